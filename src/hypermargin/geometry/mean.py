"""Two middles of points: the Fréchet (Karcher) mean, the m of least ``sum a_i d(x_i, m)^2 / 2``, and the centroid."""

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array, row_blocks
from hypermargin.geometry.compiled.frames import onto_hyperboloid, sum_of_points
from hypermargin.geometry.isometries import move_from_origin, move_to_origin
from hypermargin.geometry.lorentz import euclidean_norm, lift, origin, radius
from hypermargin.geometry.metric import exp_origin, log_origin

#: Newton's method converges quadratically once near; this many steps are never needed.
MAX_STEPS = 100
#: The Hessian lies between 1 and the largest distance, 36: from a step of 1/20 on, five halvings, the objective falls.
MAX_HALVINGS = 20
EPS = float(np.finfo(np.float64).eps)
#: No weights.
EMPTY = np.zeros(0)


def lorentz_centroid(X: Array, weights: Array | None = None) -> Array:
    """``sum a_i x_i`` scaled onto the hyperboloid, shape (n, d + 1) and positive weights (n,); shape (d + 1,).

    Unlike the Fréchet mean it needs one pass; like it, it moves with the data under isometries.
    """
    largest = 1.0 if weights is None else float(weights.max())
    return onto_hyperboloid(sum_of_points(X, EMPTY if weights is None else weights, largest))


def frechet_mean(X: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Weighted Fréchet mean of Lorentz points of curvature -1, shape (n, d + 1) and weights (n,); shape (d + 1,).

    The mean is unique (squared distances are convex in hyperbolic space) and moves with the data under isometries.
    Newton's method: in the frame that has m at the origin, with ``v_i = log_0(x_i) = r_i u_i`` and weights of sum 1,

        gradient = -sum a_i v_i,   Hessian = sum a_i (u_i u_i' + r_i coth(r_i) (I - u_i u_i')) >= I,

    with the step halved until the objective falls enough. It ends when rounding leaves nothing to improve, so the
    result is as exact as the coordinates are: within about ``eps e^r`` of the mean, r the radius of the mean.
    """
    return mean_and_spread(X, weights)[0]


def mean_and_spread(X: ArrayLike, weights: ArrayLike | None = None) -> tuple[Array, float]:
    """The Fréchet mean, and the weighted mean of the squared distances to it."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] == 0 or X.shape[1] < 2:
        raise ValueError(f"points must be a non-empty (n, d + 1) array with d >= 1, got shape {X.shape}")
    if not np.isfinite(X).all():
        raise ValueError("X contains NaN or infinity")
    a = _normalised(weights, X.shape[0])
    best = _start(X, a)
    for _ in range(MAX_STEPS):
        better = _newton_step(X, a, best)
        if better is None:
            break
        best = better
    return best.point, best.square


class _Candidate:
    """A point, and sums over the logarithms ``v_i = r_i u_i`` of the data there (`frechet_mean`)."""

    def __init__(self, X: Array, a: Array, point: Array):
        dim = X.shape[1] - 1
        self.point, self.square, self.length = point, 0.0, 0.0
        self.mean_logarithm, self.hessian = np.zeros(dim), np.zeros((dim, dim))
        for rows in row_blocks(len(X)):
            logarithms, weights = log_origin(move_to_origin(X[rows], point)), a[rows]
            r = euclidean_norm(logarithms)
            size = np.where(r > 0.0, r, 1.0)
            across = np.where(r > 0.0, size / np.tanh(size), 1.0)
            units = logarithms / size[:, None]
            self.square += float(weights @ r**2)
            self.length += float(weights @ r)
            self.mean_logarithm += weights @ logarithms
            self.hessian += (units.T * (weights * (1.0 - across))) @ units + (weights @ across) * np.eye(dim)
        self.slope = float(euclidean_norm(self.mean_logarithm))


def _newton_step(X: Array, a: Array, best: _Candidate) -> _Candidate | None:
    """A better point, or None where rounding leaves nothing to improve."""
    if best.slope <= EPS * float(best.point[0]) * best.length:
        return None
    direction = np.linalg.solve(best.hessian, best.mean_logarithm)
    fall = float(best.mean_logarithm @ direction)
    # Close to the mean rounding hides differences of the objective, but there a whole step shrinks the gradient.
    close = best.slope <= 1e-6
    for step in (1.0,) if close else 0.5 ** np.arange(MAX_HALVINGS):
        other = _Candidate(X, a, move_from_origin(exp_origin(step * direction), best.point))
        falls = not close and 0.5 * other.square <= 0.5 * best.square - 0.1 * step * fall
        if falls or other.slope <= 0.5 * best.slope:
            return other
    return None


def _start(X: Array, a: Array) -> _Candidate:
    """The better of two guesses: the centroid put on the hyperboloid, and the mean of the logarithms at the origin.

    The first is good for data in one far place, the second for data spread widely around the origin.
    """
    at_origin = _Candidate(X, a, origin(X.shape[1] - 1))
    guesses = [exp_origin(at_origin.mean_logarithm)]
    scale = np.exp(-np.max(radius(X)))  # keeps the centroid's square in range; a common factor does not move it
    centroid = (a * scale) @ X
    norm = np.linalg.norm(centroid[1:])
    square = (centroid[0] - norm) * (centroid[0] + norm)
    if square > 0.0:
        guesses.append(lift(centroid[1:] / np.sqrt(square)))
    return min((_Candidate(X, a, guess) for guess in guesses), key=lambda candidate: candidate.square)


def _normalised(weights: ArrayLike | None, n: int) -> Array:
    if weights is None:
        return np.full(n, 1.0 / n)
    a = np.asarray(weights, dtype=np.float64)
    if a.shape != (n,):
        raise ValueError(f"weights must have shape ({n},), got {a.shape}")
    if not np.all(np.isfinite(a)) or np.any(a < 0.0) or not np.any(a > 0.0):
        raise ValueError("weights must be finite, not negative, and not all zero")
    return a / a.sum()
