"""The least objective of all w with a given time coordinate t, in a given frame: a curve over t for pictures.

At fixed t the relaxed objective ``max(|wr|^2 - t^2, 0)/2 + risk`` is convex in wr. If its minimiser has ``|wr| >= |t|``
it also minimises the problem. If not, the solution has ``|wr| = |t|``, and its direction is found by a scan followed by
descent. This is reliable in the plane and less so in higher dimensions. Values are always those of some w.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import quadratic_form
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem

#: Kinks are rounded off over this width (of margins; relative, of q) while descending, in turn.
SMOOTHING = (0.3, 1e-2, 3e-4, 1e-5)
MAX_STEPS = 100
#: Directions that are tried where w has to be lightlike.
SCAN = 72

#: Value, gradient and Hessian of a smooth convex function.
Expansion = tuple[float, Array, Array]


class LeastObjective:
    """``h(t)``, the least objective over wr, for a soft-margin problem in the frame that has `centre` at the origin."""

    def __init__(self, problem: MarginProblem, centre: Array):
        self.problem = problem
        self.frame = boost(centre)
        self._Z = problem.covectors_around(centre) if problem.uncertainty is None else None

    def along(self, ts: Array, start: Array) -> Array:
        """Values at ascending t, shape (T,), each from its neighbour's wr on the way out from `start`, a w."""
        ts = np.asarray(ts, dtype=np.float64)
        values = np.empty(ts.shape)
        middle = int(np.searchsorted(ts, start[0]))
        for order in (range(middle, ts.size), range(middle - 1, -1, -1)):
            wr = np.array(start[1:], dtype=np.float64)
            for k in order:
                values[k], wr = self.at(float(ts[k]), wr)
        return values

    def at(self, t: float, start: Array) -> tuple[float, Array]:
        """The value at t and the wr that has it, from a first guess of wr."""

        def relaxed(wr: Array, width: float) -> Expansion:
            risk, slope, bend = self._smooth_risk(np.append(t, wr), width)
            scale = width * t * t + 1e-300
            q = float(wr @ wr) - t * t
            term, first, second = _rounded(np.array([q]), scale)
            curvature = first[0] * np.eye(wr.size) + 2.0 * second[0] * np.outer(wr, wr)
            return 0.5 * float(term[0]) + risk, first[0] * wr + slope[1:], curvature + bend[1:, 1:]

        wr = _descend(relaxed, start)
        if not self.problem.allow_timelike and np.linalg.norm(wr) < abs(t):
            wr = self._lightlike(t, [wr, start])
        values = {self.value(np.append(t, each)): each for each in (start, wr) if self._feasible(t, each)}
        best = min(values)
        return best, values[best]

    def value(self, w: Array) -> float:
        """The true objective at w of the frame; lightlike up to rounding counts as feasible."""
        return 0.5 * max(float(quadratic_form(w)), 0.0) + self.problem.risk(self.frame @ w)

    def _feasible(self, t: float, wr: Array) -> bool:
        return self.problem.allow_timelike or float(np.linalg.norm(wr)) >= abs(t) * (1.0 - 1e-12)

    def _lightlike(self, t: float, guesses: list[Array]) -> Array:
        """The best wr of length ``|t|`` that a scan of directions and a search around the best of them find."""
        directions = [*_directions(guesses[0].size), *(g / np.linalg.norm(g) for g in guesses if np.any(g))]
        v = min(directions, key=lambda u: self.value(np.append(t, abs(t) * u)))
        if v.size == 2:
            angle, across = 2.0 * np.pi / SCAN, np.array([-v[1], v[0]])

            def turned(by: float) -> Array:
                return abs(t) * (np.cos(by) * v + np.sin(by) * across)

            options = {"xatol": 1e-9}
            by = minimize_scalar(
                lambda a: self.value(np.append(t, turned(a))), bounds=(-angle, angle), method="bounded", options=options
            ).x
            return min((turned(by), abs(t) * v), key=lambda wr: self.value(np.append(t, wr)))

        def on_cone(z: Array) -> float:
            return self.value(np.append(t, abs(t) * z / np.linalg.norm(z)))

        z = minimize(on_cone, v, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9, "maxfev": 400}).x
        return abs(t) * z / np.linalg.norm(z)

    def _smooth_risk(self, w: Array, width: float) -> Expansion:
        """The risk with its kinks rounded off over `width`, in the frame (with uncertainty: the worst points held)."""
        Z = self._covectors(w)
        loss, first, second = _rounded(1.0 - Z @ w, width)
        weights = self.problem.costs / SQRT2
        near = np.flatnonzero(second)  # few samples lie within a rounded kink
        bend = (Z[near] * (weights * second)[near, None]).T @ Z[near]
        return float(weights @ loss), -(weights * first) @ Z, bend

    def _covectors(self, w: Array) -> Array:
        """Rows whose products with w are the margins, in the frame; the worst at w where there is uncertainty."""
        if self._Z is not None:
            return self._Z
        assert self.problem.uncertainty is not None
        return self.problem.uncertainty.worst_covectors(self.problem.X, self.problem.y, self.frame @ w) @ self.frame


def _rounded(x: Array, width: float) -> tuple[Array, Array, Array]:
    """``max(x, 0)`` with a parabola over ``0 < x < width`` in place of the kink, and its two derivatives."""
    inside = np.clip(x, 0.0, width)
    curved = (x > 0.0) & (x < width)
    return inside**2 / (2.0 * width) + np.maximum(x - width, 0.0), inside / width, curved / width


def _descend(function: Callable[[Array, float], Expansion], start: Array) -> Array:
    """The minimiser of a convex function by trust-region Newton steps, with ever less smoothing.

    Where the rounded kinks are out of reach the function is linear: plain Newton steps would be endless.
    """
    x = np.array(start, dtype=np.float64)
    known: dict[bytes, Expansion] = {}

    def expansion(x: Array, width: float) -> Expansion:
        key = x.tobytes()
        if key not in known:
            known.clear()
            known[key] = function(x, width)
        return known[key]

    reach = max(float(np.linalg.norm(x)), 1e-3)
    for width in SMOOTHING:
        known.clear()
        x = minimize(
            lambda x, width=width: expansion(x, width)[0],
            x,
            jac=lambda x, width=width: expansion(x, width)[1],
            hess=lambda x, width=width: expansion(x, width)[2],
            method="trust-exact",
            options={"initial_trust_radius": 0.3 * reach, "max_trust_radius": 100.0 * reach, "maxiter": MAX_STEPS},
        ).x
    return x


def _directions(dim: int) -> list[Array]:
    """Unit vectors all around: evenly in the plane, along the axes and at random beyond it."""
    if dim == 2:
        angles = np.linspace(0.0, 2.0 * np.pi, SCAN, endpoint=False)
        return list(np.column_stack([np.cos(angles), np.sin(angles)]))
    around = np.vstack([np.eye(dim), -np.eye(dim), np.random.default_rng(0).standard_normal((SCAN, dim))])
    return list(around / np.linalg.norm(around, axis=1, keepdims=True))
