"""The certificate of a kernel classifier: its own coefficients, which bound the least objective from both sides.

Coefficients with ``0 <= y_i beta_i <= c_i`` and a sum of exactly 0 are a point of the dual, whose value
``y.beta - beta'K beta/2`` no classifier's objective is below. The same coefficients and an intercept are a classifier,
whose objective bounds the least one from above. Both are computed in floating point, with proven bounds on every
rounding error.
"""

from dataclasses import dataclass
from math import fsum, isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hypermargin.arithmetic import UNIT_ROUNDOFF, rounding_factor
from hypermargin.arrays import Array
from hypermargin.certificates.compiled.kernel_bounds import Family, enclose_family, form_bounds, risk_above
from hypermargin.certificates.core.certificate import REFERENCE, Certificate, CertificateError
from hypermargin.kernels import Kernel
from hypermargin.problems.kernel import DualProblem, FeatureProblem, KernelProblem, KernelProblemFamily

#: Terms that are summed at once; the error of a sum grows with their number, to 5e-13 of its terms for so many.
TERMS = 4096


@dataclass(frozen=True, eq=False)
class KernelCertificate(Certificate):
    """Proof of bounds for the objective of a `KernelProblem` or a `FeatureProblem`.

    Parameters
    ----------
    n_samples : int
    samples : (m,) array of int
        The samples whose coefficient is not 0.
    coefficients : (m,) array
        Theirs.
    intercept : float
    """

    FORMAT: ClassVar[str] = "hypermargin-kernel-1"
    PROVES: ClassVar[str] = "no function of the kernel's space has a smaller objective than the lower bound"
    IS_ANSWER: ClassVar[bool] = True

    n_samples: int
    samples: NDArray[np.intp]
    coefficients: Array
    intercept: float = 0.0

    @classmethod
    def of(cls, beta: Array, intercept: float) -> "KernelCertificate":
        """The certificate with coefficients beta, shape (n,)."""
        used = beta.nonzero()[0]
        return cls(beta.size, used, beta[used], float(intercept))

    @property
    def beta(self) -> Array:
        """All coefficients, shape (n,)."""
        beta = np.zeros(self.n_samples)
        beta[self.samples] = self.coefficients
        return beta

    def _bound(self, problem: Any) -> float:
        """A rigorous lower bound for the objective of `problem`.

        Kernel values are computed anew from the points (or taken from the matrix that the problem carries) and charged
        with their rounding errors.
        """
        return self.enclosure(problem)[0]

    def _objective(self, problem: Any) -> float:
        return self.enclosure(problem)[1]

    def enclosure(self, problem: DualProblem, *, by_arb: bool = False) -> tuple[float, float]:
        """A rigorous lower bound for the least objective, and a rigorous upper bound for that of this classifier."""
        if by_arb:
            return REFERENCE["bound"](self, problem), REFERENCE["objective"](self, problem)
        self._check(problem)
        return enclosed_objectives(problem, self.beta, self.intercept)

    def _check(self, problem: Any) -> None:
        if not isinstance(problem, DualProblem):
            raise CertificateError("this certificate bounds the problem of a kernel; the problem has none")
        if not isfinite(self.intercept):
            raise CertificateError("the certificate holds numbers that are not finite")
        low, high = problem.box
        require_dual_point(self, problem, self.coefficients, "coefficient", low, high)


def require_dual_point(certificate: Any, problem: Any, values: Array, name: str, low: Array, high: Array) -> None:
    """Refuse values that are not one per sample that the certificate names, within bounds, with a sum of exactly 0."""
    samples, n = certificate.samples, certificate.n_samples
    if problem.n_samples != n:
        raise CertificateError(f"the certificate is for {n} samples, not for {problem.n_samples}")
    if samples.shape != values.shape or np.unique(samples).size != samples.size:
        raise CertificateError(f"the {name}s of the certificate do not fit its samples")
    if samples.size and not (samples.min() >= 0 and samples.max() < n):
        raise CertificateError("the certificate names samples that the problem does not have")
    if not np.isfinite(values).all():
        raise CertificateError("the certificate holds numbers that are not finite")
    if not np.all((low[samples] <= values) & (values <= high[samples])):
        limit = "that" if name == "weight" else "the weight"
        raise CertificateError(f"a {name} of the certificate is beyond {limit} of its sample")
    if fsum(values.tolist()) != 0.0:  # correctly rounded, so 0 only where the sum is
        raise CertificateError(f"the {name}s of the certificate do not add up to 0")


def enclosed_objectives(problem: DualProblem, beta: Array, intercept: float) -> tuple[float, float]:
    """A lower bound of the dual objective of beta, and an upper bound of the primal one of beta and the intercept."""
    with np.errstate(all="ignore"):  # what overflows proves nothing
        if isinstance(problem, FeatureProblem):
            norm_square, scores, errors = _feature_scores(problem, beta)
            total, _ = form_bounds(beta, scores, errors)
        elif isinstance(problem, KernelProblem):
            scores, errors = _kernel_scores(problem, beta)
            total, norm_square = form_bounds(beta, scores, errors)
        else:
            raise TypeError(f"there is no way to bound the objectives of a {type(problem).__name__}")
        lower = total - 0.5 * norm_square
        lower -= 4.0 * UNIT_ROUNDOFF * (abs(total) + abs(norm_square))
        upper = 0.5 * norm_square + risk_above(scores, errors, problem.y, problem.costs, intercept)
        upper += 4.0 * UNIT_ROUNDOFF * (abs(norm_square) + abs(upper))
        return (lower, upper) if isfinite(lower) and isfinite(upper) else (-np.inf, np.inf)


def enclosed_family(family: KernelProblemFamily, beta: Array, intercepts: Array) -> tuple[Array, Array]:
    """The same for all problems of a family; `beta` is flat, and the bounds have shape (n_problems,).

    Bounds are infinite where coefficients are out of their box or do not add up to exactly 0.
    """
    lower, upper = np.empty((2, len(family.code)))
    enclose_family(Family(*family.arrays), beta, intercepts, *family.rounding, lower, upper)
    return lower, upper


def _kernel_scores(problem: KernelProblem, beta: Array) -> tuple[Array, Array]:
    """``K beta`` and a bound on its error, each of shape (n,)."""
    relative, absolute, positive = 0.0, 0.0, False
    if isinstance(problem.kernel, Kernel):
        relative, absolute = problem.kernel.rounding(problem.dim)
        positive = not problem.kernel.conditional  # its values are not negative
    weights = np.empty((2, beta.size))
    weights[0] = beta
    np.abs(beta, out=weights[1])
    if problem.gram is not None and problem.n_samples <= TERMS and positive:
        scores, sizes = problem.matrix_products(weights)
        constant = absolute * float(weights[1].sum())
        return scores, _up((rounding_factor(beta.size) + 1.01 * relative) * sizes + constant)
    scores, errors = np.zeros(problem.n_samples), np.zeros(problem.n_samples)
    used = np.flatnonzero(beta)
    near = problem.near
    if positive and near is not None:
        scores, sizes = np.ascontiguousarray(near.products(problem.own_points[used], weights[:, used].T).T)
        constant = (absolute + near.omitted) * float(weights[1].sum())
        return scores, _up((rounding_factor(used.size + 64) + 1.01 * relative) * sizes + constant)
    for start in range(0, used.size, TERMS):
        columns = used[start : start + TERMS]
        own = weights[:, columns].T
        factor = rounding_factor(columns.size) + 1.01 * relative
        constant = absolute * float(own[:, 1].sum())
        for rows in problem.row_blocks(columns.size):
            values = problem.values(rows, columns)
            sums = values @ own if positive else np.stack([values @ own[:, 0], np.abs(values) @ own[:, 1]], axis=1)
            scores[rows] += sums[:, 0]
            errors[rows] += factor * sums[:, 1] + constant + 2.0 * UNIT_ROUNDOFF * np.abs(scores[rows])
    return scores, _up(errors)


def _feature_scores(problem: FeatureProblem, beta: Array) -> tuple[float, Array, Array]:
    """``|w|^2`` from above for ``w = Z'beta``, its scores ``Z w`` and a bound on their error."""
    Z = problem.features
    width = Z.shape[1]
    w, w_errors = np.zeros(width), np.zeros(width)
    used = np.flatnonzero(beta)
    for start in range(0, used.size, TERMS):
        rows = used[start : start + TERMS]
        w += beta[rows] @ Z[rows]
        size = np.abs(beta[rows]) @ np.abs(Z[rows])
        w_errors += rounding_factor(rows.size) * size + 2.0 * UNIT_ROUNDOFF * np.abs(w)
    w_errors = _up(w_errors)
    norm_square = float(((np.abs(w) + w_errors) ** 2).sum()) * (1.0 + float(rounding_factor(width + 4)))
    scores = Z @ w
    # |z|.v <= |z| |v|: one number for each sample, without a copy of the features
    slack = float(np.linalg.norm(rounding_factor(width) * np.abs(w) + w_errors))
    errors = np.sqrt(np.einsum("ij,ij->i", Z, Z)) * (slack * (1.0 + float(rounding_factor(2 * width + 8))))
    return norm_square, scores, _up(errors)


def _up(value):
    """A bound on an error made larger by more than the roundings in computing it."""
    return value * (1.0 + 1e-9) + 1e-300
