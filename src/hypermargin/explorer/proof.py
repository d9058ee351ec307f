"""The picture of a proof as curves for the page: what `ProofDisplay` draws, in numbers."""

from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.explorer.encoding import finite_or_none
from hypermargin.plotting.proof import ProofDisplay
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Solution

ENVELOPE_POINTS = 161
OBJECTIVE_POINTS = 25
#: Minorants drawn faintly; more of them would only make the page larger.
MOST_MINORANTS = 24


def proof_picture(solution: Solution, problem: MarginProblem) -> dict[str, Any] | None:
    """The curves of the proof over t around the optimum, or None where the solution has none to draw."""
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
    """What each interval proves, as ``[from t, to t, bound]``, those that are in sight."""
    edges, bounds = display.curves.steps(sign)
    ends = np.clip(sign * np.where(np.isfinite(edges), edges, 1e300), low, high)
    return [
        [float(p), float(q), float(v)] for p, q, v in zip(ends, ends[1:], bounds, strict=False) if p != q and v > -1e300
    ]


def _short(values: Array) -> list[float | None]:
    """Seven digits: more than a picture shows."""
    return [float(f"{v:.7g}") if np.isfinite(v) else None for v in values.tolist()]
