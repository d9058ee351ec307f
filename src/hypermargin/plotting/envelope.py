"""The curves of a certificate in floating point: its minorants over t, their envelope and what its intervals prove.

For pictures only: `SoftMarginCertificate.verify` is what proves anything. Here ``t = sign * s`` is the time coordinate
of w in the frame of the certificate.
"""

from dataclasses import dataclass

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import Combination, DirectionBox, RegionProof, SoftMarginCertificate
from hypermargin.certificates.sums import cut_sums
from hypermargin.problems.margin import MarginProblem


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
    """What a certificate says about the objective of `problem`, as functions of t.

    Attributes
    ----------
    n_regions, n_intervals, n_cuts : int
    last_node : dict of sign to float
        Where the last interval (the tail) begins.
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
        """The minorants as functions of s on the side `sign` of t = 0 (facts 1 to 3 of `certificate`)."""
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
        return self._by_sign(t, lambda sign, s: self._shared[sign].at(s), len(self._shared[1].offset))

    def region_envelopes(self, t: Array) -> Array:
        """For every region the largest of the minorants that hold in it, and 0; NaN for t of the other sign; (R, T)."""
        t = np.asarray(t, dtype=np.float64)
        values = np.full((self.n_regions, t.size), np.nan)
        for sign in (-1, 1):
            chosen = np.flatnonzero(t >= 0.0 if sign > 0 else t <= 0.0)
            s = np.abs(t[chosen])
            common = self._shared[sign].at(s).max(axis=0, initial=0.0)
            for r, region in enumerate(self.regions):
                if region.sign == sign:
                    values[r, chosen] = np.maximum(self._own[r].at(s).max(axis=0), common)
        return values

    def envelope(self, t: Array) -> Array:
        """``E(t)``: no w with this t has a smaller objective; the lowest over the regions, shape (T,)."""
        return np.nanmin(self.region_envelopes(t), axis=0)

    def steps(self, sign: int) -> tuple[Array, Array]:
        """What the intervals of one sign prove, the lowest over regions: edges of s, shape (N + 1,), and bounds, (N,).

        The last edge is infinite.
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

    def _by_sign(self, t: Array, values_at, rows: int) -> Array:
        t = np.asarray(t, dtype=np.float64)
        values = np.empty((rows, t.size))
        for sign, chosen in ((1, t >= 0.0), (-1, t < 0.0)):
            values[:, chosen] = values_at(sign, np.abs(t[chosen]))
        return values


def _chord(box: DirectionBox) -> tuple[float, Array]:
    """kappa and u with ``u.v >= kappa |v|`` for all directions v of the box: a cap around the box's middle."""
    middle, edges = 0.5 * (box.low + box.high), box.high - box.low
    square = middle @ middle
    return float(np.sqrt(1.0 - edges @ edges / (4.0 * square))), middle / np.sqrt(square)
