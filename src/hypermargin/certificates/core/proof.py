"""The proof that a certificate of the soft margin holds: cuts, regions, and what proves each region.

It rests on three facts (docs/exact-theory.md has the proofs).

1. For weights ``0 <= a_i <= c_i/sqrt2`` the risk has the affine minorant ``b + g.w``, ``b = sum a_i``,
   ``g = -sum a_i z_i`` with ``z_i = y_i (x_i0, -x_ir)``. Convex combinations of such *cuts* are minorants again.
2. At fixed ``|t| = s`` the minimum of ``q/2 + b + g.w`` over ``|wr| >= s`` is ``L(s) = b + a s + phi(s, |gr|)`` with
   ``a = sign(t) g0``: a concave function of s, so on an interval ``[s1, s2]`` its smaller end value is a bound.
3. Directions of wr in a box satisfy a linear *chord* inequality, which may be added with any multiplier >= 0.

All of it holds in any Lorentz frame; the certificate names the frame by the point that is moved to the origin.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates.core.plain import MATRIX, from_plain


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
class SharedCut:
    """The cut at point number `point`, but for some samples, which take ``a_i = shares_i c_i/sqrt2``.

    Parameters
    ----------
    point : int
    samples : (m,) array of int
        In ascending order.
    shares : (m,) array
        Between 0 and 1.
    named : bool
        Whether `samples` are not rows but fingerprints (`fingerprints.sample_names`), which samples keep wherever they
        lie. All samples of such a name take its share, which is valid whoever they are.
    """

    point: int
    samples: NDArray[np.int64]
    shares: Array
    named: bool = False

    def to_plain(self) -> list[Any]:
        """Rows are numbers, names are text: 16 hexadecimal digits."""
        samples = self.samples.tolist()
        return [self.point, [f"{k % 2**64:016x}" for k in samples] if self.named else samples, self.shares.tolist()]

    @classmethod
    def from_plain(cls, data: Any) -> Self:
        point, samples, shares = data
        named = bool(samples) and isinstance(samples[0], str)
        if named:
            samples = np.array([int(name, 16) for name in samples], dtype=np.uint64).view(np.int64).tolist()
        found = from_plain(NDArray[np.int64], samples)
        return cls(from_plain(int, point), found, from_plain(Array, shares), named)


@dataclass(frozen=True, eq=False)
class RegionProof:
    """Proof of the bound for ``t = sign * s``, ``s >= 0`` and directions in `box` (all if None).

    ``minorants[i]`` proves the interval from ``nodes[i]`` to ``nodes[i + 1]``, the last one that from ``nodes[-1]`` on.
    """

    KEYED: ClassVar = frozenset[str]()

    sign: int
    box: DirectionBox | None
    nodes: Array
    minorants: tuple[Combination, ...]


@dataclass(frozen=True, eq=False)
class EnvelopeProof:
    """Proof of a lower bound for the hinge objective of a margin problem by the envelope of its cuts.

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
    shared : tuple of SharedCut
        Further cuts, numbered from J + K on; for problems without an uncertainty set.
    precise : bool
        Whether samples are to be moved to the frame in double-double arithmetic; in doubles the bound would be lost.
    cone_cuts : bool
        Whether cuts at points in the light cone are those of `UncertaintySet.cone_factors`, which hold for spacelike
        normals; for uncertainty sets where no timelike w is allowed.
    most_weight : float
        Sample weights above this number count as this number only: ``a_i`` may be less than ``c_i/sqrt2``, and what a
        sample costs that is far heavier than others would be lost in rounding.
    """

    centre: Array
    points: Array = field(metadata=MATRIX)
    regions: tuple[RegionProof, ...]
    threshold: float = 1.0
    duals: Array | None = field(default=None, metadata=MATRIX)
    shared: tuple[SharedCut, ...] = ()
    precise: bool = False
    cone_cuts: bool = False
    most_weight: float = float("inf")

    @property
    def n_cuts(self) -> int:
        return len(self.points) + (0 if self.duals is None else len(self.duals)) + len(self.shared)
