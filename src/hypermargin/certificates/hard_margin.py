"""Certificates for the hard margin: a lower bound through a soft margin, or a proof that nothing separates."""

from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

from hypermargin.arrays import Array
from hypermargin.certificates.by_reference import bound_by_reference
from hypermargin.certificates.core.certificate import Certificate, CertificateError, require_hard_margin
from hypermargin.certificates.core.objective import answer_above
from hypermargin.certificates.core.plain import MATRIX
from hypermargin.certificates.core.soft_margin import SoftMarginCertificate
from hypermargin.problems.margin import MarginProblem


@dataclass(frozen=True, eq=False)
class HardMarginCertificate(Certificate):
    """A bound for the soft margin with weight C bounds the hard margin too: a separator has no risk.

    The soft margin has `equal_weights` for all samples that count; in files of old it had those of the problem.
    """

    FORMAT: ClassVar[str] = "hypermargin-hard-margin-1"

    PROVES: ClassVar[str] = "no hyperplane that separates the classes has a smaller objective than the lower bound"
    KEYED: ClassVar = Certificate.KEYED | {"equal_weights"}

    C: float
    soft: SoftMarginCertificate
    equal_weights: bool = False

    def _bound(self, problem: MarginProblem) -> float:
        """A rigorous lower bound for the hard-margin objective of `problem`."""
        require_hard_margin(problem)
        if not 0.0 < self.C < inf:
            raise CertificateError(f"the weight of a soft margin must be positive and finite, got {self.C!r}")
        if self.equal_weights:
            problem = problem.with_equal_weights()
        return self.soft.bound_for(problem.with_C(self.C))

    def _objective(self, problem: MarginProblem) -> float:
        require_hard_margin(problem)
        assert self.answer is not None
        return answer_above(self.answer, problem, self.soft.centre, self.soft.precise)


@dataclass(frozen=True, eq=False)
class OverlapCertificate(Certificate):
    """Samples for which ``sum a_i z_i = 0`` with all ``a_i > 0``: no w has ``z_i.w >= 1`` for all of them (Farkas)."""

    FORMAT: ClassVar[str] = "hypermargin-overlap-1"

    PROVES: ClassVar[str] = "no hyperplane separates the classes"

    samples: tuple[int, ...]

    def _bound(self, problem: MarginProblem) -> float:
        """``inf`` (there is no feasible point) if the proof holds, which the reference checker decides in rationals."""
        require_hard_margin(problem)
        return bound_by_reference(self, problem)


@dataclass(frozen=True, eq=False)
class RobustOverlapCertificate(Certificate):
    """Members of uncertainty sets that cancel, which leaves no w with all worst margins positive (Farkas).

    Samples, shape (d + 2,), and the normals, shape (d + 2, d + 1), at which their worst points are taken: d + 2 members
    of R^(d + 1) have one relation. Normals are those of the frame that has the point over the space coordinates
    `centre` at its origin (None: the coordinates of the data). Far out doubles there have digits enough.
    """

    FORMAT: ClassVar[str] = "hypermargin-robust-overlap-1"

    PROVES: ClassVar[str] = "no hyperplane separates the uncertainty sets of the classes"
    KEYED: ClassVar = Certificate.KEYED | {"centre"}

    samples: tuple[int, ...]
    normals: Array = field(metadata=MATRIX)
    centre: Array | None = None

    def _bound(self, problem: MarginProblem) -> float:
        """``inf`` (there is no feasible point) if the members overlap, which the reference checker finds out."""
        require_hard_margin(problem)
        return bound_by_reference(self, problem)
