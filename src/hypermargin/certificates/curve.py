"""The certificate of a generalised hyperplane: weights of the samples, which bound the least objective from below.

For weights with ``0 <= y_i beta_i <= c_i/sqrt2`` and a sum of exactly 0, no w and no intercept have an objective below
``sum |beta_i| - (q(P) + 2 (c * P)^2)/2`` with ``P = sum beta_i x_i``: the Lagrange dual, whose quadratic form is the
inverse of that of the objective.
"""

from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates.base import Certificate, CertificateError
from hypermargin.certificates.rounding import UNIT_ROUNDOFF, rounding_factor
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.metric import distance
from hypermargin.kernels.double_double import from_product
from hypermargin.problems.curve import CurveProblem

#: How far apart two computations of one mean may be, for each unit of its time coordinate (its rounding grows so).
SAME_CENTRE = 256.0 * UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class CurveCertificate(Certificate):
    """Proof of a lower bound for the objective of a `CurveProblem`.

    Parameters
    ----------
    n_samples : int
    centre : (d,) array
        Space coordinates of the point c of the problem.
    samples : (m,) array of int
        The samples whose weight is not 0.
    weights : (m,) array
        Their beta.
    """

    FORMAT: ClassVar[str] = "hypermargin-curve-1"
    PROVES: ClassVar[str] = "no generalised hyperplane has a smaller objective than the lower bound"

    n_samples: int
    centre: Array
    samples: NDArray[np.intp]
    weights: Array

    def bound_for(self, problem: Any, *, by_arb: bool = False) -> float:
        """A rigorous lower bound for the objective of `problem`.

        Sums over the samples are exact up to one rounding, and all that follows is done by Arb whether `by_arb` or not.
        """
        self._check(problem)
        points = problem.X[self.samples]
        total = arb(fsum(np.abs(self.weights).tolist()))
        total = total - total * arb(2) ** -52
        P = [_exact_sum(self.weights, points[:, j]) for j in range(points.shape[1])]
        # Weights are a point of the dual whatever the centre is, so that the bound is for that of the problem.
        return float((total - _length_squared(P, problem.centre) / 2).lower())

    def require_about(self, problem: Any) -> None:
        """As for other certificates; but a centre is a mean, whose last digits depend on the machine."""
        if isinstance(problem, CurveProblem) and problem.centre.shape == self.centre.shape:
            apart = float(distance(lift(problem.centre), lift(self.centre)))
            if apart <= SAME_CENTRE * float(lift(self.centre)[0]):
                problem = replace(problem, centre=self.centre)
        super().require_about(problem)

    def _check(self, problem: Any) -> None:
        if not isinstance(problem, CurveProblem):
            raise CertificateError("this certificate is about boundaries that are curves; the problem is another")
        if problem.n_samples != self.n_samples:
            raise CertificateError(f"the certificate is for {self.n_samples} samples, not for {problem.n_samples}")
        if self.samples.shape != self.weights.shape or np.unique(self.samples).size != self.samples.size:
            raise CertificateError("the weights of the certificate do not fit its samples")
        if self.samples.size and not (self.samples.min() >= 0 and self.samples.max() < self.n_samples):
            raise CertificateError("the certificate names samples that the problem does not have")
        sides = problem.y[self.samples] * self.weights
        # c_i/sqrt2 from below, so that the true bound is respected
        if not np.all((sides >= 0.0) & (sides <= problem.costs[self.samples] * (1.0 - 2.0 * UNIT_ROUNDOFF))):
            raise CertificateError("a weight of the certificate is beyond that of its sample")
        if fsum(self.weights.tolist()) != 0.0:  # correctly rounded, so 0 only where the sum is
            raise CertificateError("the weights of the certificate do not add up to 0")

    def _content(self) -> dict[str, Any]:
        return {
            "n_samples": self.n_samples,
            "centre": self.centre.tolist(),
            "samples": self.samples.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> "CurveCertificate":
        return cls(
            int(data["n_samples"]),
            np.array(data["centre"], dtype=np.float64),
            np.array(data["samples"], dtype=np.intp),
            np.array(data["weights"], dtype=np.float64),
        )


def objective_above(problem: CurveProblem, w: Array, intercept: float) -> float:
    """An upper bound of the objective at w and an intercept that rounding cannot spoil."""
    products = problem.X * np.append(w[:1], -w[1:])
    sizes = np.abs(products).sum(axis=1) + abs(intercept)
    margins = problem.y * (products.sum(axis=1) + intercept)
    rounding = 1.01 * (rounding_factor(w.size + 4) * (1.0 + sizes))
    hinges = np.maximum(0.0, (1.0 - margins) + rounding)
    risk = float(problem.costs @ hinges) * (1.0 + float(rounding_factor(problem.n_samples + 8)))
    length = _length_squared([arb(float(v)) for v in w], problem.centre)
    return float((length / 2 + arb(risk)).upper())


def _length_squared(P: list[arb], centre: Array) -> arb:
    """``q(P) + 2 (c * P)^2`` of a vector of balls."""
    c = [arb(float(v)) for v in centre]
    c0 = (1 + sum((v * v for v in c), arb(0))).sqrt()
    space = sum((v * v for v in P[1:]), arb(0))
    along = c0 * P[0] - sum((a * b for a, b in zip(c, P[1:], strict=True)), arb(0))
    return space - P[0] * P[0] + 2 * along * along


def _exact_sum(weights: Array, values: Array) -> arb:
    """``sum weights_i values_i`` as a ball: products split into two doubles exactly, their sum rounded once."""
    product = from_product(weights, values)
    total = fsum(np.concatenate([product.high, product.low]).tolist())
    # Splitting loses something only where a product underflows.
    return arb(total, abs(total) * 2.0**-52 + weights.size * 1e-300)
