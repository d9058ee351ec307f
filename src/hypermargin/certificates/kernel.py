"""The certificate of a kernel classifier: its own coefficients, which bound the least objective from both sides.

Coefficients with ``0 <= y_i beta_i <= c_i`` and a sum of exactly 0 are a point of the dual, whose value
``y.beta - beta'K beta/2`` no classifier's objective is below. The same coefficients and an intercept are a classifier,
whose objective bounds the least one from above.
"""

from dataclasses import dataclass
from math import fsum, isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import Certificate, CertificateError
from hypermargin.certificates.kernel_sums import enclosed_objectives
from hypermargin.problems.kernel import DualProblem, KernelProblem


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

    def bound_for(self, problem: Any, *, by_arb: bool = False) -> float:
        """A rigorous lower bound for the objective of `problem`.

        Kernel values are computed anew from the points (or taken from the matrix that the problem carries) and charged
        with their rounding errors. With `by_arb` every value and every sum is made by the library Arb: far slower, and
        a second opinion.
        """
        return self.enclosure(problem, by_arb=by_arb)[0]

    def enclosure(self, problem: DualProblem, *, by_arb: bool = False) -> tuple[float, float]:
        """A rigorous lower bound for the least objective, and a rigorous upper bound for that of this classifier."""
        self._check(problem)
        if not by_arb:
            return enclosed_objectives(problem, self.beta, self.intercept)
        if not isinstance(problem, KernelProblem):
            raise CertificateError("Arb is asked about kernels of points; this problem has features")
        from hypermargin.certificates.kernel_arb import enclosed_by_arb  # imports a library that is seldom needed

        return enclosed_by_arb(problem, self.beta, self.intercept)

    def _check(self, problem: Any) -> None:
        if not isinstance(problem, DualProblem):
            raise CertificateError("this certificate bounds the problem of a kernel; the problem has none")
        if problem.n_samples != self.n_samples:
            raise CertificateError(f"the certificate is for {self.n_samples} samples, not for {problem.n_samples}")
        samples, coefficients = self.samples, self.coefficients
        if samples.shape != coefficients.shape or not (samples[1:] > samples[:-1]).all():
            raise CertificateError("the coefficients of the certificate do not fit its samples")
        if samples.size and not (samples[0] >= 0 and samples[-1] < self.n_samples):
            raise CertificateError("the certificate names samples that the problem does not have")
        low, high = problem.box
        inside = (low[samples] <= coefficients) & (coefficients <= high[samples])
        if not (inside.all() and isfinite(self.intercept)):
            if not (np.all(np.isfinite(coefficients)) and isfinite(self.intercept)):
                raise CertificateError("the certificate holds numbers that are not finite")
            raise CertificateError("a coefficient of the certificate is beyond the weight of its sample")
        if fsum(coefficients.tolist()) != 0.0:  # correctly rounded, so 0 only where the sum is
            raise CertificateError("the coefficients of the certificate do not add up to 0")

    def _content(self) -> dict[str, Any]:
        return {
            "n_samples": self.n_samples,
            "samples": self.samples.tolist(),
            "coefficients": self.coefficients.tolist(),
            "intercept": self.intercept,
        }

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> "KernelCertificate":
        return cls(
            int(data["n_samples"]),
            np.array(data["samples"], dtype=np.intp),
            np.array(data["coefficients"], dtype=np.float64),
            float(data["intercept"]),
        )
