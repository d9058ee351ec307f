"""The certified path over C: for every value the boundary, what was reached, what is proved, and the proof itself."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from hypermargin.arrays import Array
from hypermargin.explorer.encoding import finite_or_none
from hypermargin.explorer.plane import Plane
from hypermargin.explorer.proof import proof_picture
from hypermargin.explorer.shown_model import ROUGH_EDGE, ShownModel, packed_curves
from hypermargin.solvers.base import relative_gap

#: A path reaches from the model's own C over this factor to that C times it.
PATH_FACTOR = 100.0


def values_of_C(path: int | Sequence[float], C: float) -> list[float]:
    """The values of C of a path: as given, increasing, or so many of them around `C`, which is one of them."""
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
    """Fit `estimator` anew to X and y for every C, and describe each step for the page."""
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
