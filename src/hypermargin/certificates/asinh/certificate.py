"""The certificate of a lower bound for the asinh objective: a tree of boxes that covers all w, and what proves each
leaf.

It rests on four facts (docs/asinh.md has the proofs).

1. Margins are linear, so on a box of w each has an interval. For any slope in [-1, 0] the loss has an affine lower
   bound there in closed form, and where the interval ends before 1 a quadratic one.
2. ``q(w)/2 >= lam q(w)/2`` for every ``lam <= 1``, since ``q(w) >= 0`` (for lam in [0, 1] if timelike w are allowed).
3. ``x'Ax/2 >= x'(A + D)x/2 - sum(D)/2`` on ``[-1, 1]^k``; for ``A + D >= 0`` a tangent plane bounds that in turn.
4. Far out the samples on the wrong side of a cone of directions cost more and more.

All of it happens in a Lorentz frame, whose matrix is part of the certificate.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.asinh.check import verified_lower_bound
from hypermargin.certificates.asinh.proof import BoxLeaf, BoxProof
from hypermargin.certificates.base import Certificate
from hypermargin.problems.margin import MarginProblem


@dataclass(frozen=True, eq=False)
class AsinhCertificate(BoxProof, Certificate):
    """A lower bound for the asinh objective of a margin problem; its parameters are those of `BoxProof`."""

    FORMAT: ClassVar[str] = "hypermargin-asinh-2"
    PROVES: ClassVar[str] = "no boundary has a smaller asinh objective than the lower bound"
    LOSS: ClassVar[str] = "asinh"

    def bound_for(self, problem: MarginProblem, *, by_arb: bool = False) -> float:
        """See `Certificate.bound_for`. With `by_arb` the losses of all samples are left to the library Arb."""
        return verified_lower_bound(self, problem, by_arb)

    def _content(self) -> dict[str, Any]:
        return {
            "frame": self.frame.tolist(),
            "half_side": self.half_side,
            "cutoff": self.cutoff,
            "settled": self.settled,
            "leaf_settled": self.leaf_settled,
            "directions": [list(pieces) for pieces in self.directions],
            "tree": list(self.tree),
            "leaves": [
                [leaf.lam, leaf.points.ravel().tolist(), leaf.weights.tolist(), leaf.minimiser.tolist()]
                for leaf in self.leaves
            ],
        }

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> "AsinhCertificate":
        width = len(data["frame"])
        return cls(
            frame=np.array(data["frame"], dtype=np.float64),
            half_side=float(data["half_side"]),
            cutoff=float(data["cutoff"]),
            settled=float(data["settled"]),
            leaf_settled=float(data["leaf_settled"]),
            directions=tuple(tuple(int(axis) for axis in pieces) for pieces in data["directions"]),
            tree=tuple(int(axis) for axis in data["tree"]),
            leaves=tuple(
                BoxLeaf(float(lam), _numbers(points).reshape(-1, width), _numbers(weights), _numbers(minimiser))
                for lam, points, weights, minimiser in data["leaves"]
            ),
        )


def _numbers(values: list[Any]) -> Array:
    return np.array(values, dtype=np.float64)
