"""The certified path over C: for each value the boundary, its objective and bound, and the picture of the proof."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from hypermargin.arrays import Array
from hypermargin.explorer.encoding import finite_or_none
from hypermargin.explorer.plane import Plane
from hypermargin.explorer.shown_model import ROUGH_EDGE, ShownModel, packed_curves
from hypermargin.plotting.proof import ProofDisplay
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Solution, relative_gap

#: A path reaches from the model's own C divided by this factor to C times it: two decades either way.
PATH_FACTOR = 100.0
#: Points of the curves of the proof, which is drawn 300 pixels wide: one in two pixels; the objective is smoother, and
#: each of its points is a small optimisation.
ENVELOPE_POINTS = 161
OBJECTIVE_POINTS = 25
#: Minorants drawn faintly; more of them would only make the page larger.
MOST_MINORANTS = 24


def values_of_C(path: int | Sequence[float], C: float) -> list[float]:
    """The increasing values of C of a path: those given, or this many around `C`, which is one of them."""
    if isinstance(path, int | np.integer):
        if path < 2:
            raise ValueError(f"a path needs at least 2 values of C, got {path}")
        steps = np.linspace(-1.0, 1.0, int(path) | 1)  # odd, so that the middle is the model's own
        return [float(f"{C * PATH_FACTOR**step:.6g}") if step else C for step in steps]
    values = sorted({float(value) for value in path})
    if len(values) < 2 or not all(0.0 < value < np.inf for value in values):
        raise ValueError("path must be a number of values of C, or at least two positive values themselves")
    return values


def certified_path(
    estimator: Any,
    path: int | Sequence[float],
    X: Any,
    y: np.ndarray,
    plane: Plane,
    shadows: Array,
    geometry: str | None = None,
    curvature: float | None = None,
) -> dict[str, Any]:
    """Fit a copy of `estimator` to X and y for each C, and describe each step for the page."""
    model = getattr(estimator, "estimator_", estimator)  # the classifier of a `...CV`
    if not hasattr(model, "fit_path"):
        raise ValueError(
            f"a path over C needs a classifier with fit_path, as HyperbolicSVC; got {type(model).__name__}"
        )
    Cs = values_of_C(path, float(model.C) if np.isfinite(model.C) else 1.0)
    steps = []
    for fitted in clone(model).fit_path(X, y, Cs):
        shown = ShownModel("", fitted, X, geometry, curvature)
        steps.append(_step(fitted, shown, X, y, plane, shadows))
    own = min(range(len(Cs)), key=lambda k: abs(np.log(Cs[k] / model.C)) if np.isfinite(model.C) else -k)
    return {"steps": steps, "start": own, "problems": len(steps[0]["problems"])}


def _step(fitted: Any, shown: ShownModel, X: Any, y: np.ndarray, plane: Plane, shadows: Array) -> dict[str, Any]:
    """One value of C. With several classes the sums over the binary problems, and the proof with the widest gap."""
    solutions = fitted.solutions_
    objective = float(sum(solution.objective for solution in solutions))
    bound = float(sum(solution.lower_bound for solution in solutions))
    widest = int(np.argmax([solution.gap for solution in solutions]))
    problem = fitted.binary_problems(X, y)[widest]
    step: dict[str, Any] = {
        "C": float(fitted.C),
        "objective": finite_or_none(objective),
        "bound": finite_or_none(bound),
        "gap": finite_or_none(relative_gap(objective, bound)),
        "proved": sum(solution.status.is_proved for solution in solutions),
        "status": solutions[widest].status.value,
        "accuracy": float(np.mean(fitted.predict(X) == y)),
        "problems": [f"problem {k + 1}" for k in range(len(solutions))],
        "widest": widest,
        "proof": proof_picture(solutions[widest], problem),
    }
    boundary = shown.boundary(plane)
    if boundary is not None:
        step["normal"], step["intercept"] = boundary[0].tolist(), boundary[1]
    else:
        step["curves"] = packed_curves(shown.regions(plane, shadows, short_edge=ROUGH_EDGE).curves())
    return step


# -- the picture of a proof --------------------------------------------------------------------------------------------


def proof_picture(solution: Solution, problem: MarginProblem) -> dict[str, Any] | None:
    """The curves of the proof over t around the optimum; None if the solution has no such proof."""
    try:
        display = ProofDisplay.make(solution, problem)
    except ValueError:  # no certificate, or one that proves something else
        return None
    low, high = display.limits("optimum")
    t = display.grid(low, high, ENVELOPE_POINTS)
    regions = display.curves.region_envelopes(t)
    faint = regions if display.curves.n_regions > 2 else display.curves.simple_minorants(t)
    at = np.linspace(low, high, OBJECTIVE_POINTS)
    at = np.unique(np.append(at, np.clip(display.w[0], low, high)))
    objective = display.least.along(at, display.w)
    return {
        "low": low,
        "high": high,
        "top": float(min(objective.max(), 2.0 * max(display.objective, 1e-12))),
        "t": _short(t),
        "envelope": _short(np.nanmin(regions, axis=0)),
        "minorants": [_short(curve) for curve in faint[:: -(-len(faint) // MOST_MINORANTS)]],
        "objectiveT": _short(at),
        "objective": _short(objective),
        "intervals": [step for sign in (-1, 1) for step in _steps(display, sign, low, high)],
        "optimum": [float(display.w[0]), finite_or_none(display.objective)],
        "bound": finite_or_none(display.lower_bound),
        "regions": display.curves.n_regions,
        "nIntervals": display.curves.n_intervals,
        "cuts": display.curves.n_cuts,
    }


def _steps(display: ProofDisplay, sign: int, low: float, high: float) -> list[list[float]]:
    """The bounds of the visible intervals, as ``[from t, to t, bound]``."""
    edges, bounds = display.curves.steps(sign)
    ends = np.clip(sign * np.where(np.isfinite(edges), edges, 1e300), low, high)
    return [
        [float(p), float(q), float(v)] for p, q, v in zip(ends, ends[1:], bounds, strict=False) if p != q and v > -1e300
    ]


def _short(values: Array) -> list[float | None]:
    """Values with seven digits, more than a picture shows."""
    return [float(f"{v:.7g}") if np.isfinite(v) else None for v in values.tolist()]
