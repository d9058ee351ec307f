"""Certificates for the hard margin: a lower bound through a soft margin, or a proof that nothing separates."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from hypermargin.certificates.base import Certificate, CertificateError, require_hard_margin
from hypermargin.certificates.relations import has_positive_relation
from hypermargin.certificates.soft_margin import SoftMarginCertificate
from hypermargin.problems.margin import MarginProblem


@dataclass(frozen=True, eq=False)
class HardMarginCertificate(Certificate):
    """A bound for the soft margin with weight C bounds the hard margin too: a separator has no risk.

    The soft margin has `equal_weights` for all samples that count; in files of old it had those of the problem.
    """

    FORMAT: ClassVar[str] = "hypermargin-hard-margin-1"

    PROVES: ClassVar[str] = "no hyperplane that separates the classes has a smaller objective than the lower bound"

    C: float
    soft: SoftMarginCertificate
    equal_weights: bool = False

    def bound_for(self, problem: MarginProblem, *, by_arb: bool = False) -> float:
        """A rigorous lower bound for the hard-margin objective of `problem`."""
        require_hard_margin(problem)
        if not 0.0 < self.C < inf:
            raise CertificateError(f"the weight of a soft margin must be positive and finite, got {self.C!r}")
        if self.equal_weights:
            problem = problem.with_equal_weights()
        return self.soft.bound_for(problem.with_C(self.C), by_arb=by_arb)

    def _content(self) -> dict[str, Any]:
        equal = {"equal_weights": True} if self.equal_weights else {}
        return {"C": self.C, "soft": self.soft.to_dict(), **equal}

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> "HardMarginCertificate":
        equal = bool(data.get("equal_weights", False))
        return cls(float(data["C"]), SoftMarginCertificate.from_dict(data["soft"]), equal)


@dataclass(frozen=True, eq=False)
class OverlapCertificate(Certificate):
    """Samples for which ``sum a_i z_i = 0`` with all ``a_i > 0``: no w has ``z_i.w >= 1`` for all of them (Farkas)."""

    FORMAT: ClassVar[str] = "hypermargin-overlap-1"

    PROVES: ClassVar[str] = "no hyperplane separates the classes"

    samples: tuple[int, ...]

    def bound_for(self, problem: MarginProblem, *, by_arb: bool = False) -> float:
        """``inf`` (there is no feasible point) if the proof holds without rounding (`relations`), else an error.

        That leaves nothing for `by_arb` to do.
        """
        require_hard_margin(problem)
        if not self.samples or not all(0 <= i < problem.n_samples for i in self.samples):
            raise CertificateError("the certificate names samples that the problem does not have")
        if not all(problem.costs[i] > 0.0 for i in self.samples):
            raise CertificateError("the certificate uses a sample of weight 0")
        chosen = list(self.samples)
        if not has_positive_relation(problem.X[chosen, 1:].tolist(), problem.y[chosen].astype(int).tolist()):
            raise CertificateError("the samples of the certificate do not prove that the classes overlap")
        return float("inf")

    def _content(self) -> dict[str, Any]:
        return {"samples": list(self.samples)}

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> "OverlapCertificate":
        return cls(tuple(int(i) for i in data["samples"]))
