"""The certificate of a lower bound: a finite object that anyone can check against the problem.

It rests on three facts (docs/exact.md has the proofs).

1. For weights ``0 <= a_i <= c_i/sqrt2`` the risk has the affine minorant ``b + g.w``, ``b = sum a_i``,
   ``g = -sum a_i z_i`` with ``z_i = y_i (x_i0, -x_ir)``. Convex combinations of such *cuts* are minorants again.
2. At fixed ``|t| = s`` the minimum of ``q/2 + b + g.w`` over ``|wr| >= s`` is ``L(s) = b + a s + phi(s, |gr|)`` with
   ``a = sign(t) g0``: a concave function of s, so on a cell ``[s1, s2]`` its smaller end value is a bound.
3. Directions of wr in a box satisfy a linear *chord* inequality, which may be added with any multiplier >= 0.

All of it holds in any Lorentz frame; the certificate names the frame by the point that is moved to the origin.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.base import Certificate
from hypermargin.problems.margin import MarginProblem


@dataclass(frozen=True, eq=False)
class DirectionBox:
    """Directions of wr through the piece ``low <= x <= high`` of the face ``x[axis] = side`` of the cube [-1, 1]^d."""

    axis: int
    side: int
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Combination:
    """A minorant: `weights` over the cuts numbered `cuts` (at most 1 in all), and `chord` times the chord of `box`.

    The box contains that of the region: what holds for more directions holds for fewer.
    """

    cuts: tuple[int, ...]
    weights: tuple[float, ...]
    chord: float = 0.0
    box: DirectionBox | None = None


@dataclass(frozen=True, eq=False)
class RegionProof:
    """Proof of the bound for ``t = sign * s``, ``s >= 0`` and directions in `box` (all if None).

    ``minorants[i]`` proves the cell from ``nodes[i]`` to ``nodes[i + 1]``, the last one that from ``nodes[-1]`` on.
    """

    sign: int
    box: DirectionBox | None
    nodes: Array
    minorants: tuple[Combination, ...]


@dataclass(frozen=True, eq=False)
class SoftMarginCertificate(Certificate):
    """Proof of a lower bound for the hinge objective of a margin problem.

    Parameters
    ----------
    centre : (d,) array
        Space coordinates of the point that the frame of the certificate moves to the origin.
    points : (J, d + 1) array
        Normals in that frame. Cut j takes ``a_i = c_i/sqrt2`` for the samples whose margin there is below `threshold`,
        and 0 for the others: a choice that is valid however the margins are rounded. In a robust problem margins and
        z_i are those of points of the uncertainty sets that are worst there, nearly; at ``+-(1, 0, ..., 0)`` those of
        the observed points.
    regions : tuple of RegionProof
    threshold : float
    duals : (K, n) array, optional
        Further cuts, numbered J, J + 1, ..., with their ``a_i`` given outright.
    """

    FORMAT: ClassVar[str] = "hypermargin-certificate-1"

    centre: Array
    points: Array
    regions: tuple[RegionProof, ...]
    threshold: float = 1.0
    duals: Array | None = None

    def verify(self, problem: MarginProblem, *, by_arb: bool = False) -> float:
        """A rigorous lower bound for the objective of `problem`, by code that shares nothing with the solvers.

        With `by_arb` all that follows the sums over the data is done by the library Arb instead of this package's own
        ball arithmetic: slower, and a second opinion.

        Raises `CertificateError` if the certificate does not cover all hyperplanes or does not fit the problem.
        """
        from hypermargin.certificates.verify import (
            verified_lower_bound,
        )  # the checker knows certificates, not vice versa

        return verified_lower_bound(self, problem, by_arb)

    def _content(self) -> dict[str, Any]:
        return {
            "centre": self.centre.tolist(),
            "threshold": self.threshold,
            "points": self.points.tolist(),
            "duals": None if self.duals is None else self.duals.tolist(),
            "regions": [_region_to_dict(region) for region in self.regions],
        }

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> "SoftMarginCertificate":
        return cls(
            centre=np.array(data["centre"], dtype=np.float64),
            points=np.array(data["points"], dtype=np.float64).reshape(-1, len(data["centre"]) + 1),
            regions=tuple(_region_from_dict(region) for region in data["regions"]),
            threshold=float(data["threshold"]),
            duals=None if data["duals"] is None else np.array(data["duals"], dtype=np.float64),
        )


def _region_to_dict(region: RegionProof) -> dict[str, Any]:
    return {
        "sign": region.sign,
        "box": _box_to_list(region.box),
        "nodes": region.nodes.tolist(),
        "minorants": [[list(m.cuts), list(m.weights), m.chord, _box_to_list(m.box)] for m in region.minorants],
    }


def _region_from_dict(data: dict[str, Any]) -> RegionProof:
    return RegionProof(
        sign=int(data["sign"]),
        box=_box_from_list(data["box"]),
        nodes=np.array(data["nodes"], dtype=np.float64),
        minorants=tuple(
            Combination(
                tuple(int(j) for j in cuts), tuple(float(v) for v in weights), float(chord), _box_from_list(box)
            )
            for cuts, weights, chord, box in data["minorants"]
        ),
    )


def _box_to_list(box: DirectionBox | None) -> list[Any] | None:
    return None if box is None else [box.axis, box.side, box.low.tolist(), box.high.tolist()]


def _box_from_list(data: list[Any] | None) -> DirectionBox | None:
    if data is None:
        return None
    axis, side, low, high = data
    return DirectionBox(int(axis), int(side), np.array(low, dtype=np.float64), np.array(high, dtype=np.float64))
