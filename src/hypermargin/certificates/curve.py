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

from hypermargin.arithmetic import UNIT_ROUNDOFF, in_arb, rounding_factor
from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import Certificate, CertificateError
from hypermargin.certificates.kernel import require_dual_point
from hypermargin.geometry.compiled.double_double import from_product, time_coordinates
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.metric import distance
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

    def _bound(self, problem: Any) -> float:
        """A rigorous lower bound for the objective of `problem`, whose points are ``(sqrt(1 + |xr|^2), xr)`` exactly.

        Sums over the samples have twice the digits of a double and stated errors, and all that follows is done by Arb.
        """
        self._check(problem)
        space, weights = problem.X[self.samples, 1:], self.weights
        time, doubt = time_coordinates(space)
        with in_arb():
            total = _sum(np.abs(weights))
            P0 = _sum(*from_product(weights, time.high), *from_product(weights, time.low))
            P0 += arb(0, doubt * float(np.abs(weights) @ time.high))
            Pr = [_sum(*from_product(weights, axis)) for axis in space.T]
            # Weights are a point of the dual whatever the centre is, so that the bound is for that of the problem.
            bound = float((total - _length_squared([P0, *Pr], problem.centre) / 2).lower())
        return float(np.nextafter(bound, -np.inf)) if np.isfinite(bound) else -np.inf

    def _objective(self, problem: Any) -> float:
        assert self.answer is not None
        return objective_above(problem, self.answer.w, self.answer.intercept)

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
        # c_i/sqrt2 from below: three roundings, of sqrt2, of the quotient and of this product
        most = problem.costs * (1.0 - 4.0 * UNIT_ROUNDOFF)
        low, high = np.where(problem.y > 0.0, 0.0, -most), np.where(problem.y > 0.0, most, 0.0)
        require_dual_point(self, problem, self.weights, "weight", low, high)


def objective_above(problem: CurveProblem, w: Array, intercept: float) -> float:
    """An upper bound of the objective at w and an intercept that rounding cannot spoil."""
    products = problem.X * np.append(w[:1], -w[1:])
    sizes = np.abs(products).sum(axis=1) + abs(intercept)
    margins = problem.y * (products.sum(axis=1) + intercept)
    # One rounding each for d + 1 products, their sum, 1 - m; and d/2 + 2 for x0 = sqrt(1 + |xr|^2).
    rounding = 1.01 * (rounding_factor(2 * w.size + 8) * (1.0 + sizes))
    hinges = np.maximum(0.0, (1.0 - margins) + rounding)
    risk = float(problem.costs @ hinges) * (1.0 + float(rounding_factor(problem.n_samples + 8)))
    with in_arb():
        length = _length_squared([arb(float(v)) for v in w], problem.centre)
        objective = float((length / 2 + arb(risk)).upper())
    return float(np.nextafter(objective, np.inf)) if np.isfinite(objective) else np.inf


def _length_squared(P: list[arb], centre: Array) -> arb:
    """``q(P) + 2 (c * P)^2`` of a vector of balls."""
    c = [arb(float(v)) for v in centre]
    c0 = (1 + sum((v * v for v in c), arb(0))).sqrt()
    space = sum((v * v for v in P[1:]), arb(0))
    along = c0 * P[0] - sum((a * b for a, b in zip(c, P[1:], strict=True)), arb(0))
    return space - P[0] * P[0] + 2 * along * along


def _sum(*parts: Array) -> arb:
    """The sum of all entries as a ball: what correct rounding leaves of it is summed once more."""
    terms = np.concatenate(parts).tolist()
    total = fsum(terms)
    rest = fsum([*terms, -total])
    # Exact products of doubles (`from_product`) lose something only where they underflow.
    return arb(total) + arb(rest, abs(rest) * 2.0**-52 + len(terms) * 1e-300)
