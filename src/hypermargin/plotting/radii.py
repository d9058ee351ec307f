"""Certified radii on the Poincaré disk: around each point the disc in which its prediction cannot change."""

from typing import Any

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.patches import Circle
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import move_to_origin
from hypermargin.geometry.models import from_lorentz, to_lorentz
from hypermargin.plotting.display import PoincareDisplay

#: Larger discs are left out: drawn around the middle they would fill 0.9999 of the picture's radius.
LARGEST_RADIUS = 12.0


def geodesic_circles(points: Array, radii: Array) -> tuple[Array, Array]:
    """Hyperbolic circles as Euclidean circles on the disk: centres, shape (n, 2), and radii, shape (n,).

    With ``s = tanh(rho/2)`` the circle around p has the centre ``p (1 - s^2)/(1 - s^2 |p|^2)`` and the radius
    ``s (1 - |p|^2)/(1 - s^2 |p|^2)``.
    """
    s = np.tanh(0.5 * np.asarray(radii, dtype=np.float64))
    square = np.sum(points**2, axis=1)
    scale = 1.0 / (1.0 - s**2 * square)
    return points * (scale * (1.0 - s**2))[:, None], s * (1.0 - square) * scale


class RadiiDisplay(PoincareDisplay):
    """A `PoincareDisplay` with discs: ``discs_`` of correctly classified points, ``wrong_discs_`` of the others."""

    discs_: PatchCollection
    wrong_discs_: PatchCollection


def plot_certified_radii(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    adversarial: bool = False,
    **display: Any,
) -> "RadiiDisplay":
    """Draw a fitted `HyperbolicSVC` with the certified radius of each point of X.

    Discs of misclassified points are drawn dashed and empty. Infinite radii are left out.

    Parameters
    ----------
    estimator : HyperbolicSVC
    X, y : points in the coordinates of the estimator, and labels
    adversarial : bool
        Also draw the nearest point with another prediction, joined to its point.
    **display
        Further arguments of `PoincareDisplay.from_estimator`.

    """
    radii = np.asarray(estimator.certified_radius(X))
    picture = RadiiDisplay.from_estimator(estimator, X, y, **display)
    assert isinstance(picture, RadiiDisplay)
    scale = float(np.sqrt(estimator.curvature))

    def on_disk(points: ArrayLike) -> Array:
        lorentz = to_lorentz(points, estimator.geometry, estimator.curvature)
        return from_lorentz(move_to_origin(lorentz, picture.center), "poincare")

    disk = on_disk(X)
    shown = scale * radii <= LARGEST_RADIUS
    correct = np.asarray(estimator.predict(X)) == np.asarray(y)
    shade = (0.25, 0.25, 0.25, min(0.1, 2.0 / len(radii)))  # discs overlap: the more there are, the paler
    picture.discs_ = _discs(disk, scale * radii, shown & correct, facecolor=shade, edgecolor="#40404060")
    picture.wrong_discs_ = _discs(
        disk, scale * radii, shown & ~correct, facecolor="none", edgecolor="#C00000", linestyle=(0, (3, 2))
    )
    for discs in (picture.discs_, picture.wrong_discs_):
        picture.ax_.add_collection(discs, autolim=False)
    if adversarial:
        rivals, distance = estimator.nearest_adversarial(X)
        there = np.isfinite(distance) & shown
        ends = on_disk(rivals[there])
        for start, end in zip(disk[there], ends, strict=True):
            picture.ax_.plot(*np.stack([start, end]).T, color="#606060", linewidth=0.5, zorder=1.8)
        picture.ax_.scatter(ends[:, 0], ends[:, 1], s=12.0, marker="x", linewidths=0.8, color="#303030", zorder=2.2)
    return picture


def _discs(points: Array, radii: Array, chosen: np.ndarray, **style: Any) -> PatchCollection:
    centres, sizes = geodesic_circles(points[chosen], radii[chosen])
    circles = [Circle(tuple(centre), size) for centre, size in zip(centres, sizes, strict=True)]
    return PatchCollection(circles, linewidths=0.7, zorder=1.6, **style)
