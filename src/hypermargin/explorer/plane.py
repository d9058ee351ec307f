"""The plane that the page shows: the data's own in two dimensions, otherwise the best totally geodesic plane."""

from dataclasses import dataclass

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import boost, move_from_origin, move_to_origin, transform_normal
from hypermargin.geometry.lorentz import covector, lift, origin
from hypermargin.geometry.mean import frechet_mean
from hypermargin.geometry.metric import distance, log_origin

#: The mean of more points than this is taken of a subset: it only decides what is in the middle at first.
MOST_FOR_MEAN = 20_000


@dataclass(frozen=True, eq=False)
class Plane:
    """A totally geodesic plane of hyperbolic space: the image of ``span(axes)`` under the boost to `centre`."""

    centre: Array  # (d + 1,): the point of the space that becomes the origin of the plane
    axes: Array  # (d, 2): orthonormal directions at the centre, after the boost that moves it to the origin
    mean: Array  # (2,): space coordinates, in the plane, of the mean of the data's shadows
    share: float  # of the data's variance in the tangent space at the centre along the axes; 1 in two dimensions

    @property
    def dim(self) -> int:
        return self.axes.shape[0]

    def shadow(self, X: Array) -> Array:
        """The nearest points of the plane, shape (n, d + 1) to (n, 3) in its own Lorentz coordinates.

        In the frame of `centre`, x has a part ``(x0, along)`` in the span of the plane and a part `beside` it; the
        nearest point is the first part, scaled back to the hyperboloid by ``1/sqrt(1 + |beside|^2)``. This projection
        increases no distance.
        """
        if self.dim == 2:
            return X
        moved = move_to_origin(X, self.centre)
        along = moved[:, 1:] @ self.axes
        beside = moved[:, 1:] - along @ self.axes.T
        return lift(along / np.hypot(1.0, np.linalg.norm(beside, axis=1))[:, None])

    def height(self, X: Array) -> Array:
        """Distance of points of the space to the plane, shape (n, d + 1) to (n,)."""
        if self.dim <= 2:
            return np.zeros(len(X))
        moved = move_to_origin(X, self.centre)[:, 1:]
        return np.arcsinh(np.linalg.norm(moved - moved @ self.axes @ self.axes.T, axis=1))

    def in_space(self, Y: Array) -> Array:
        """Points Y of the plane as points of the space, shape (n, 3) to (n, d + 1)."""
        return Y if self.dim == 2 else move_from_origin(lift(Y[:, 1:] @ self.axes.T), self.centre)

    def trace(self, w: Array) -> Array:
        """The normal, shape (3,), of a hyperplane's trace in the plane: ``y * trace(w) = in_space(y) * w``."""
        if self.dim == 2:
            return w
        moved = transform_normal(w, boost(covector(self.centre)))
        return np.append(moved[0], self.axes.T @ moved[1:])


def best_plane(X: Array) -> Plane:
    """The plane for Lorentz points X, shape (n, d + 1): tangent principal components at the Fréchet mean.

    In two dimensions it is the whole space in the coordinates of X; a line (d = 1) is drawn as the axis of a plane.
    """
    step = -(-len(X) // MOST_FOR_MEAN)
    mean = frechet_mean(X[::step])
    dim = X.shape[1] - 1
    if dim == 2:
        return Plane(origin(2), np.eye(2), mean[1:], 1.0)
    if dim == 1:
        return Plane(mean, np.array([[1.0, 0.0]]), np.zeros(2), 1.0)
    tangent = log_origin(move_to_origin(X, mean))
    values, vectors = np.linalg.eigh(tangent.T @ tangent / len(X))
    total = float(values.sum())
    share = float(values[-2:].sum()) / total if total > 0.0 else 1.0
    axes = vectors[:, :-3:-1]
    # The sign of an eigenvector is arbitrary: the largest component of each axis is made positive.
    axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), [0, 1]])
    return Plane(mean, axes, np.zeros(2), share)


def polar_around(points: Array, others: Array) -> tuple[Array, Array]:
    """Angle and distance, shapes (n,), of `others` as seen from `points` of the plane, both (n, 3).

    The angle is that of ``log_0`` after the boost of the point to the origin, which the page inverts. NaN rows stay
    NaN.
    """
    z, v = _disk(points), _disk(others)
    seen = (v - z) / (1.0 - np.conj(z) * v)  # the boost of each point to the origin, on the disk
    return np.angle(seen), distance(points, others)


def _disk(X: Array) -> np.ndarray:
    """Poincaré coordinates as complex numbers."""
    return (X[:, 1] + 1j * X[:, 2]) / (1.0 + X[:, 0])
