"""Curves over t for the picture of a proof: what a certificate says, and the least objective with a given t.

For pictures only, in floating point: `SoftMarginCertificate.verify` is what proves anything. ``t = sign * s`` is the
time coordinate of w in the frame of the certificate.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from hypermargin.arrays import Array
from hypermargin.certificates import Combination, DirectionBox, RegionProof, SoftMarginCertificate
from hypermargin.certificates.core.sums import cut_sums
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import quadratic_form
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem

#: Widths over which kinks are rounded off, in turn: of margins, and relative to t^2 for q. The last changes the loss of
#: a sample by at most 5e-6, which no picture shows.
SMOOTHING = (0.3, 1e-2, 3e-4, 1e-5)
#: Largest number of Newton steps at one width, which ends a descent that rounding stalls.
MAX_STEPS = 100
#: Directions that are tried if w has to be lightlike: every 5 degrees, before a bounded search around the best.
SCAN = 72

#: Value, gradient and Hessian of a smooth convex function.
Expansion = tuple[float, Array, Array]


# -- the certificate ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Minorants:
    """Functions ``L(s) = offset + slope s + phi(s, length)`` of ``s = |t|``, K of them: three arrays of shape (K,)."""

    offset: Array
    slope: Array
    length: Array

    def at(self, s: Array) -> Array:
        """Values at s of shape (T,); shape (K, T)."""
        A, s = self.length[:, None], np.asarray(s)[None, :]
        phi = np.where(s <= A, -0.5 * (A**2 + s**2), -A * s)
        return self.offset[:, None] + self.slope[:, None] * s + phi


class ProofCurves:
    """The bounds of a certificate for the objective of `problem`, as functions of t.

    Attributes
    ----------
    n_regions, n_intervals, n_cuts : int
    last_node : dict of sign to float
        The left end of the last interval (the tail).
    """

    def __init__(self, certificate: SoftMarginCertificate, problem: MarginProblem):
        sums = cut_sums(certificate, problem).totals / np.sqrt(2.0)
        self._offsets, self._slopes = sums[:, 0], -sums[:, 1:]
        self.regions = certificate.regions
        self.n_regions, self.n_cuts = len(self.regions), len(sums)
        self.n_intervals = sum(len(region.minorants) for region in self.regions)
        self._own = [self.minorants(region.minorants, region.sign) for region in self.regions]
        everywhere = [m for region in self.regions for m in region.minorants if not m.chord]
        self._shared = {sign: self.minorants(tuple(everywhere), sign) for sign in (-1, 1)}
        self.last_node = {
            sign: max(float(region.nodes[-1]) for region in self.regions if region.sign == sign) for sign in (-1, 1)
        }

    def minorants(self, combinations: tuple[Combination, ...], sign: int) -> Minorants:
        """The minorants as functions of s on the side `sign` of t = 0 (docs/exact-theory.md)."""
        offset, slope, length = (np.zeros(len(combinations)) for _ in range(3))
        for k, minorant in enumerate(combinations):
            cuts, weights = list(minorant.cuts), np.array(minorant.weights)
            g = weights @ self._slopes[cuts] if cuts else np.zeros(self._slopes.shape[1])
            offset[k], slope[k], gr = weights @ self._offsets[cuts] if cuts else 0.0, sign * g[0], g[1:]
            if minorant.chord and minorant.box is not None:
                kappa, u = _chord(minorant.box)
                slope[k] += minorant.chord * kappa
                gr = gr - minorant.chord * u
            length[k] = np.linalg.norm(gr)
        return Minorants(offset, slope, length)

    def simple_minorants(self, t: Array) -> Array:
        """Values of all minorants that hold for every direction of wr, the faint curves; shape (K, T)."""
        s = np.abs(t)
        return np.where(np.asarray(t) >= 0.0, self._shared[1].at(s), self._shared[-1].at(s))

    def region_envelopes(self, t: Array) -> Array:
        """For each region the largest minorant that holds in it, or 0; NaN for t of the other sign; (R, T)."""
        t = np.asarray(t, dtype=np.float64)
        common = {sign: self._shared[sign].at(np.abs(t)).max(axis=0, initial=0.0) for sign in (-1, 1)}
        values = np.full((self.n_regions, t.size), np.nan)
        for r, region in enumerate(self.regions):
            own = region.sign * t >= 0.0
            values[r, own] = np.maximum(self._own[r].at(np.abs(t[own])).max(axis=0), common[region.sign][own])
        return values

    def envelope(self, t: Array) -> Array:
        """``E(t)``: no w with this t has a smaller objective; the lowest over the regions, shape (T,)."""
        return np.nanmin(self.region_envelopes(t), axis=0)

    def steps(self, sign: int) -> tuple[Array, Array]:
        """The bounds of the intervals of one sign: edges of s, shape (N + 1,), the last infinite, and bounds, (N,).

        Each bound is the lowest over the regions.
        """
        mine = [r for r, region in enumerate(self.regions) if region.sign == sign]
        edges = np.unique(np.concatenate([self.regions[r].nodes for r in mine]))
        lowest = np.full(edges.size, np.inf)
        for r in mine:
            interval = np.searchsorted(self.regions[r].nodes, edges, side="right") - 1
            lowest = np.minimum(lowest, self._interval_bounds(self.regions[r], self._own[r])[interval])
        return np.append(edges, np.inf), np.maximum(lowest, 0.0)

    def _interval_bounds(self, region: RegionProof, own: Minorants) -> Array:
        """The smaller end value of each interval's minorant, which is concave; shape (intervals,)."""
        at_nodes = own.at(region.nodes)
        bounds = np.diagonal(at_nodes).copy()
        bounds[:-1] = np.minimum(bounds[:-1], np.diagonal(at_nodes, offset=1))
        # A tail whose minorant falls proves nothing, up to the rounding of its two slopes.
        falls = own.slope[-1] < own.length[-1] - 1e-9 * max(1.0, own.length[-1])
        bounds[-1] = -np.inf if falls else bounds[-1]
        return bounds


def _chord(box: DirectionBox) -> tuple[float, Array]:
    """kappa and u with ``u.v >= kappa |v|`` for all directions v of the box: a cap around the box's middle."""
    middle, edges = 0.5 * (box.low + box.high), box.high - box.low
    square = middle @ middle
    return float(np.sqrt(1.0 - edges @ edges / (4.0 * square))), middle / np.sqrt(square)


# -- the least objective -----------------------------------------------------------------------------------------------


class LeastObjective:
    """``h(t)``, the least objective of all w with time coordinate t, in the frame that has `centre` at the origin.

    At fixed t the relaxed objective ``max(|wr|^2 - t^2, 0)/2 + risk`` is convex in wr. If its minimiser has
    ``|wr| >= |t|`` it also minimises the problem. If not, the solution has ``|wr| = |t|``, and its direction is found
    by a scan followed by a descent. This is reliable in the plane and less so in higher dimensions; values are always
    those of some w.
    """

    def __init__(self, problem: MarginProblem, centre: Array):
        self.problem = problem
        self.frame = boost(centre)
        self._Z = problem.covectors_around(centre) if problem.uncertainty is None else None

    def along(self, ts: Array, start: Array) -> Array:
        """Values at ascending t, shape (T,), from `start` (a w) outwards, each starting at its neighbour's wr."""
        ts = np.asarray(ts, dtype=np.float64)
        values = np.empty(ts.shape)
        middle = int(np.searchsorted(ts, start[0]))
        for order in (range(middle, ts.size), range(middle - 1, -1, -1)):
            wr = np.array(start[1:], dtype=np.float64)
            for k in order:
                values[k], wr = self.at(float(ts[k]), wr)
        return values

    def at(self, t: float, start: Array) -> tuple[float, Array]:
        """The value at t and the wr that attains it, from a first guess of wr."""

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
        """The best wr of length ``|t|`` found by a scan of directions and a search around the best."""
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
        """The risk with its kinks rounded off over `width`, in the frame; worst points of sets are held fixed."""
        Z = self._covectors(w)
        loss, first, second = _rounded(1.0 - Z @ w, width)
        weights = self.problem.costs / SQRT2
        near = np.flatnonzero(second)  # few samples lie within a rounded kink
        bend = (Z[near] * (weights * second)[near, None]).T @ Z[near]
        return float(weights @ loss), -(weights * first) @ Z, bend

    def _covectors(self, w: Array) -> Array:
        """Rows whose products with w are the margins, in the frame; with uncertainty those of the worst points at w."""
        if self._Z is not None:
            return self._Z
        assert self.problem.uncertainty is not None
        return self.problem.uncertainty.worst_covectors(self.problem.X, self.problem.y, self.frame @ w) @ self.frame


def _rounded(x: Array, width: float) -> tuple[Array, Array, Array]:
    """``max(x, 0)`` with its kink replaced by a parabola over ``0 < x < width``, and the first two derivatives."""
    inside = np.clip(x, 0.0, width)
    curved = (x > 0.0) & (x < width)
    return inside**2 / (2.0 * width) + np.maximum(x - width, 0.0), inside / width, curved / width


def _descend(function: Callable[[Array, float], Expansion], start: Array) -> Array:
    """The minimiser of a convex function by trust-region Newton steps, with less and less smoothing.

    Away from its rounded kinks the function is linear, and plain Newton steps would be infinite.
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
    """Unit vectors in all directions: evenly in the plane; along the axes and at random in more dimensions."""
    if dim == 2:
        angles = np.linspace(0.0, 2.0 * np.pi, SCAN, endpoint=False)
        return list(np.column_stack([np.cos(angles), np.sin(angles)]))
    around = np.vstack([np.eye(dim), -np.eye(dim), np.random.default_rng(0).standard_normal((SCAN, dim))])
    return list(around / np.linalg.norm(around, axis=1, keepdims=True))
