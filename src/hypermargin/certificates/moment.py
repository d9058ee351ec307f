"""The certificate of a moment relaxation with a ball; `reference.moment` says what it proves and checks it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from hypermargin.arrays import Array
from hypermargin.certificates.by_reference import bound_by_reference
from hypermargin.certificates.core.certificate import Certificate
from hypermargin.problems.margin import MarginProblem
from hypermargin.safe_io import as_numbers


@dataclass(frozen=True, eq=False)
class Extent:
    """Weights that bound a coordinate of v where the frame's t has the sign `half`, or show that half to be empty.

    ``sign * v[coordinate]`` is bounded from above; a sign of 0 shows that the half is empty. `price` is lambda.
    """

    half: int
    coordinate: int
    sign: int
    price: float
    weights: Array


@dataclass(frozen=True, eq=False)
class Squares:
    """The multiplier ``sum (F' [v])^2`` of a constraint of the group: its kind, and of which of the group's samples."""

    kind: str
    sample: int
    factor: Array


@dataclass(frozen=True, eq=False)
class Group:
    """Samples with slacks in the same polynomials; each entry of `samples` lists a point of the data and its copies."""

    samples: tuple[tuple[int, ...], ...]
    slack_scales: tuple[float, ...]
    squares: tuple[Squares, ...]


@dataclass(frozen=True, eq=False)
class MomentCertificate(Certificate):
    """A lower bound for the hinge objective by a moment relaxation with a ball.

    Parameters
    ----------
    order : int
        That of the relaxation: squares are of polynomials of this degree in (v, eta), or one less for constraints.
    level : float
        The bound is at most this.
    scale : float
        Squares are of the objective divided by this.
    centre, basis : (d + 1,), (d + 1, d + 1) arrays
        The ball.
    frame : (d,) array
        Space coordinates of the point whose Lorentz frame the extents are in.
    extents : tuple of Extent
    groups : tuple of Group
    linear : tuple of int
        Samples whose loss is replaced by its tangent ``(1 - m)/sqrt2``; that of samples named nowhere by 0.
    """

    FORMAT: ClassVar[str] = "hypermargin-moment-1"
    PROVES: ClassVar[str] = "no boundary has a smaller objective than the lower bound"

    order: int
    level: float
    scale: float
    centre: Array
    basis: Array
    frame: Array
    extents: tuple[Extent, ...]
    groups: tuple[Group, ...]
    linear: tuple[int, ...]

    def _bound(self, problem: MarginProblem) -> float:
        return bound_by_reference(self, problem)

    def _content(self) -> dict[str, Any]:
        return {
            "order": self.order,
            "level": self.level,
            "scale": self.scale,
            "centre": self.centre.tolist(),
            "basis": self.basis.tolist(),
            "frame": self.frame.tolist(),
            "extents": [[e.half, e.coordinate, e.sign, e.price, e.weights.tolist()] for e in self.extents],
            "groups": [
                {
                    "samples": [list(copies) for copies in group.samples],
                    "slack_scales": list(group.slack_scales),
                    "squares": [[square.kind, square.sample, square.factor.tolist()] for square in group.squares],
                }
                for group in self.groups
            ],
            "linear": list(self.linear),
        }

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> Self:
        return cls(
            order=int(data["order"]),
            level=float(data["level"]),
            scale=float(data["scale"]),
            centre=as_numbers(data["centre"], ndim=1),
            basis=as_numbers(data["basis"], ndim=2),
            frame=as_numbers(data["frame"], ndim=1),
            extents=tuple(
                Extent(int(half), int(coordinate), int(sign), float(price), as_numbers(weights, ndim=1))
                for half, coordinate, sign, price, weights in data["extents"]
            ),
            groups=tuple(
                Group(
                    tuple(tuple(int(i) for i in copies) for copies in group["samples"]),
                    tuple(float(size) for size in group["slack_scales"]),
                    tuple(
                        Squares(str(kind), int(sample), as_numbers(factor, ndim=2))
                        for kind, sample, factor in group["squares"]
                    ),
                )
                for group in data["groups"]
            ),
            linear=tuple(int(i) for i in data["linear"]),
        )
