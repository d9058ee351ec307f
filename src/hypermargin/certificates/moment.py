"""The certificate of a moment relaxation with a ball; `reference.moment` defines what it proves and checks it."""

from dataclasses import dataclass, field
from typing import ClassVar

from hypermargin.arrays import Array
from hypermargin.certificates.by_reference import bound_by_reference
from hypermargin.certificates.core.certificate import Certificate
from hypermargin.certificates.core.plain import MATRIX
from hypermargin.problems.margin import MarginProblem


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
    factor: Array = field(metadata=MATRIX)


@dataclass(frozen=True, eq=False)
class Group:
    """Samples with slacks in the same polynomials; each entry of `samples` lists a point of the data and its copies."""

    KEYED: ClassVar = frozenset[str]()

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
    basis: Array = field(metadata=MATRIX)
    frame: Array
    extents: tuple[Extent, ...]
    groups: tuple[Group, ...]
    linear: tuple[int, ...]

    def _bound(self, problem: MarginProblem) -> float:
        return bound_by_reference(self, problem)
