"""Certificates for the hard margin: a lower bound through a soft margin, or a proof that nothing separates."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from flint import arb, fmpq, fmpz_mat

from hypermargin.arithmetic import in_arb, rationals
from hypermargin.certificates.core.certificate import Certificate, CertificateError, require_hard_margin
from hypermargin.certificates.core.soft_margin import SoftMarginCertificate
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


# -- positive relations ------------------------------------------------------------------------------------------------
#
# The points meant are ``(sqrt(1 + |xr|^2), xr)`` for doubles xr. Relations of the space parts are those of rational
# numbers; the one condition with roots is an inequality between sums, which ball arithmetic settles, or an equality
# that holds because equal roots cancel.


def has_positive_relation(space: list[list[float]], labels: list[int]) -> bool:
    """Whether some ``a_i > 0`` have ``sum a_i z_i = 0``, ``z_i = y_i (sqrt(1 + |xr_i|^2), -xr_i)``.

    Of the relations between the ``y_i xr_i`` there must be one or two; where there are more, fewer samples prove as
    much, and the answer is False.
    """
    relations = _rational_relations([[y * value for value in row] for row, y in zip(space, labels, strict=True)])
    squares = [1 + sum((value * value for value in rationals(row)), fmpq(0)) for row in space]
    if len(relations) == 1:
        return _of_one_sign(relations[0]) and _roots_cancel(relations[0], labels, squares)
    if len(relations) != 2:
        return False
    with in_arb():
        roots = [arb(value).sqrt() for value in squares]
        first, second = (
            sum((a * y * root for a, y, root in zip(relation, labels, roots, strict=True)), arb(0))
            for relation in relations
        )
        combined = [second * a - first * b for a, b in zip(*relations, strict=True)]
        return all(bool(value > 0) for value in combined) or all(bool(value < 0) for value in combined)


def _rational_relations(rows: list[list[float]]) -> list[list[int]]:
    """A basis of the integer vectors a with ``sum a_i row_i = 0``. Doubles are rational."""
    ratios = [[float(value).as_integer_ratio() for value in row] for row in rows]
    common = max(denominator for row in ratios for _, denominator in row)  # all are powers of two
    integers = [[numerator * (common // denominator) for numerator, denominator in row] for row in ratios]
    basis, nullity = fmpz_mat([list(column) for column in zip(*integers, strict=True)]).nullspace()
    return [[int(basis[i, k]) for i in range(len(rows))] for k in range(nullity)]


def _of_one_sign(relation: list[int]) -> bool:
    return all(value > 0 for value in relation) or all(value < 0 for value in relation)


def _roots_cancel(relation: list[int], labels: list[int], squares: list[fmpq]) -> bool:
    """Whether ``sum a_i y_i sqrt(s_i) = 0`` because the coefficients of every root that occurs sum to 0."""
    totals: dict[tuple[int, int], int] = {}
    for a, y, square in zip(relation, labels, squares, strict=True):
        key = int(square.p), int(square.q)
        totals[key] = totals.get(key, 0) + a * y
    return not any(totals.values())
