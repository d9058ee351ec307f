"""`HyperbolicOneClassSVM`: what belongs to the data and what does not, by a kernel of the distance or by a ball.

**Kernel.** The problem of Schoelkopf et al., Estimating the support of a high-dimensional distribution (2001),

    minimise  |f|^2/2 - rho + sum_i c_i max(0, rho - f(x_i)),   sum_i c_i = 1/nu,

is the margin problem of the data against one sample at the zero of the kernel's space, of cost 1: with
``rho = 1 - b`` its hinge is ``max(0, 1 + b) = max(0, 2 - rho)``, and it is never beyond the kink where no kernel value
exceeds 1. So the solver and the certificate of kernel problems serve here; the objective above is theirs minus 2.

**Ball.** ``x * c = cosh d(x, c)`` is linear in the centre c, so the smallest ball that holds all points but a share,

    minimise  rho + sum_i c_i max(0, x_i * c - rho)   over rho and centres c,

is a cone program in d + 1 unknowns. For weights ``0 <= a_i <= c_i`` of sum 1 and ``p = sum_i a_i x_i`` the objective is
at least ``min_c p * c = |p|``, the Lorentz length, with equality for ``c = p/|p|``: that is the proof of its optimum.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import clarabel
import numpy as np
from scipy import sparse
from sklearn.base import OutlierMixin

from hypermargin.arrays import Array, row_blocks
from hypermargin.estimators.base import POSITIVE, HyperbolicEstimator, keyword_only
from hypermargin.estimators.inputs import canonical_order
from hypermargin.estimators.kernel_fitting import (
    PARAMETERS,
    check_kernel,
    checked_callable,
    chosen_kernel,
    require_definite,
    warn_of_spread,
)
from hypermargin.geometry.isometries import move_from_origin, move_to_origin
from hypermargin.geometry.lorentz import covector, curvature_scale, lift, quadratic_form
from hypermargin.geometry.mean import lorentz_centroid
from hypermargin.geometry.metric import distance
from hypermargin.kernels import Kernel
from hypermargin.problems.kernel import KernelProblem
from hypermargin.problems.margin import check_weights
from hypermargin.solvers.common.conic import solve_conic
from hypermargin.solvers.kernel.method import solve_kernel

#: Kernel values that are made at a time, 64 MB; and the kernel matrix that is kept for the fit, at most, 2 GB.
BLOCK_ENTRIES, MATRIX_ENTRIES = 1 << 23, 1 << 28


@dataclass(frozen=True, eq=False)
class Anchored:
    """A kernel on points and on a row of zeros, which stands for the zero of the kernel's space."""

    kernel: Any

    def __call__(self, X: Array, Y: Array) -> Array:
        values = np.zeros((len(X), len(Y)))
        rows, columns = X[:, 0] > 0.0, Y[:, 0] > 0.0
        if rows.any() and columns.any():
            values[np.ix_(rows, columns)] = self.kernel(X[rows], Y[columns])
        return values


@keyword_only
@dataclass(eq=False, repr=False)
class HyperbolicOneClassSVM(OutlierMixin, HyperbolicEstimator):
    """Detector of outliers in hyperbolic space: a kernel of the distance, or the smallest ball.

    Predictions depend on distances alone and do not change when all points are moved by an isometry.

    Parameters
    ----------
    nu : float, default=0.1
        At most this share of the training points, by weight, is outside; with a kernel at least this share supports
        the boundary. Below the share of one point the ball holds them all.
    kernel : {"auto", "heat", "cosh", "laplacian", "ball"} or callable, default="auto"
        As in `HyperbolicKernelSVC`; "ball" is the smallest ball. Values of a callable must not exceed 1.
    t, power, gamma, geometry, curvature, tol
        As in `HyperbolicKernelSVC`.

    Attributes
    ----------
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``, negative for outliers.
    support_ : (n_support,) array of int
        Rows of the training points on the boundary or outside; of equal ones one.
    support_vectors_ : (n_support, d + 1) array
        Unit Lorentz points.
    dual_coef_ : (n_support,) array
        Their weights, of sum 1.
    solution_ : Solution
        With a kernel: bounds, status and certificate of ``problem(X)``. Its objective is that of the one-class problem
        plus 2.
    gap_ : float
        The relative gap between the objective and its lower bound.
    centre_ : (d + 1,) array
        Of a ball, on the unit hyperboloid; its radius is ``-offset_``.

    Examples
    --------
    >>> import numpy as np
    >>> from hypermargin.estimators import HyperbolicOneClassSVM
    >>> X = np.array([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]])
    >>> model = HyperbolicOneClassSVM(nu=0.1, kernel="ball", geometry="poincare").fit(X)
    >>> model.predict([[0.05, 0.05], [0.9, 0.0]])
    array([ 1, -1])
    """

    nu: float = 0.1
    kernel: Any = "auto"
    t: float | str = "scale"
    power: float | str = "scale"
    gamma: float | str = "scale"
    geometry: str = "lorentz"
    curvature: float = 1.0
    tol: float = 1e-6

    RULES: ClassVar = {
        "nu": (lambda value: isinstance(value, Real) and 0.0 < float(value) <= 1.0, "in (0, 1]"),
        "tol": POSITIVE,
    }

    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Fit to points X, shape (n, width), with weights (n,), which say how many samples one stands for."""
        self._check_space()
        points = self._points(X, reset=True)
        rows, costs = self._distinct(points, sample_weight)
        coefficients = (self._fit_ball if self._is_ball else self._fit_kernel)(points[rows], costs)
        own = np.flatnonzero(coefficients)
        self.support_, self.dual_coef_ = rows[own], coefficients[own]
        self.support_vectors_ = points[self.support_]
        return self

    def _distinct(self, points: Array, sample_weight: Any) -> tuple[np.ndarray, Array]:
        """Rows of different points, in an order that depends on their values only, and their costs."""
        weight = np.ones(len(points)) if sample_weight is None else check_weights(sample_weight, len(points))
        kept = np.flatnonzero(weight > 0.0)
        order, first = canonical_order(points[kept], np.zeros(len(kept)))
        costs = np.add.reduceat(weight[kept[order]], first) / (float(self.nu) * weight.sum())
        return kept[order[first]], costs

    @property
    def _is_ball(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "ball"

    def _fit_kernel(self, points: Array, costs: Array) -> Array:
        given = {name: getattr(self, name) for name in PARAMETERS.values()}
        check_kernel(self.kernel, given)
        kernel = chosen_kernel(self.kernel, given, points, costs, self.curvature)
        if isinstance(kernel, Kernel) and kernel.conditional:
            raise ValueError(f"one class needs a positive definite kernel; {kernel.name!r} is conditionally so only")
        if isinstance(kernel, Kernel):
            warn_of_spread(kernel, points)
        else:
            kernel = checked_callable(kernel)
            require_definite(kernel, points)
        self.kernel_ = kernel
        self.solution_ = solve_kernel(self._problem(points, costs), tol=float(self.tol))
        self.gap_, self.offset_ = self.solution_.gap, 1.0 - self.solution_.intercept
        return self.solution_.w[1:]

    def _problem(self, points: Array, costs: Array) -> KernelProblem:
        anchored = np.vstack([np.zeros(points.shape[1]), points])
        kernel, costs = Anchored(self.kernel_), np.append(1.0, costs)
        gram = kernel(anchored, anchored) if len(anchored) ** 2 <= MATRIX_ENTRIES else None
        return KernelProblem(anchored, np.append(-1.0, np.ones(len(points))), kernel, 1.0, costs, gram)

    def problem(self, X, sample_weight=None) -> KernelProblem:
        """What `fit` solved for this data with a kernel: ``solution_.certificate.verify(problem(X))`` is its bound."""
        if self._is_ball:
            raise ValueError("a ball has no problem of a kernel; its gap is in gap_")
        points = self._points(X)
        rows, costs = self._distinct(points, sample_weight)
        return self._problem(points[rows], costs)

    def _fit_ball(self, points: Array, costs: Array) -> Array:
        frame = lorentz_centroid(points, costs)
        X = move_to_origin(points, frame)
        n, width, scale = *X.shape, float(np.max(X[:, 0]))
        # Unknowns: centre, rho, slacks; x * c - rho - slack <= 0, slack >= 0, and the cone c0 >= |(1, cr)|.
        slack, none = -sparse.identity(n), sparse.csc_matrix((n, width + 1))
        above = sparse.hstack([sparse.csc_matrix(np.hstack([covector(X), -np.ones((n, 1))]) / scale), slack])
        cone = sparse.vstack([sparse.eye(1, width + 1 + n), sparse.csc_matrix((1, width + 1 + n))])
        rest = sparse.hstack([sparse.eye(width - 1, width, 1), sparse.csc_matrix((width - 1, n + 1))])
        A = sparse.vstack([above, sparse.hstack([none, slack]), -cone, -rest], format="csc")
        b = np.concatenate([np.zeros(2 * n + 1), [1.0], np.zeros(width - 1)])
        cost = np.concatenate([np.zeros(width), [1.0 / scale], costs])
        cones = [clarabel.NonnegativeConeT(2 * n), clarabel.SecondOrderConeT(width + 1)]
        found = solve_conic(cost, A, b, cones, tol=1e-3 * float(self.tol))
        centre, rho = lift(found.x[1:width]), float(np.maximum(found.x[width], 1.0))
        weights = np.minimum(np.maximum(found.dual[:n], 0.0), costs)
        weights[weights < 1e-6 * weights.max()] = 0.0  # of points inside the ball, left by the interior-point method
        weights = np.minimum(weights / max(weights.sum(), 1.0), costs)
        upper = rho + float(costs @ np.maximum(X @ covector(centre) - rho, 0.0))
        pull = weights @ X
        lower = float(np.sqrt(np.maximum(-quadratic_form(pull), 0.0))) + 1.0 - float(weights.sum())  # rho is 1 at least
        self.gap_ = max(upper - lower, 0.0) / upper
        self.centre_ = move_from_origin(centre[None], frame)[0]
        self.offset_ = -float(np.arccosh(rho)) / curvature_scale(self.curvature)
        return weights

    def score_samples(self, X) -> Array:
        """How well points belong to the data, shape (n,): a kernel's function, or minus the distance to the centre."""
        points = self._points(X)
        if self._is_ball:
            return -distance(points, self.centre_) / curvature_scale(self.curvature)
        scores = np.empty(len(points))
        for rows in row_blocks(len(points), max(1, BLOCK_ENTRIES // max(len(self.support_vectors_), 1))):
            scores[rows] = self.kernel_(points[rows], self.support_vectors_) @ self.dual_coef_
        return scores

    def decision_function(self, X) -> Array:
        """`score_samples` less the offset, shape (n,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """1 for points that belong to the data, -1 for outliers, shape (n,)."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
