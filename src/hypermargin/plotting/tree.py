"""`TreeDisplay`: one tree on the Poincaré disk, with each split drawn inside its node only."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.estimators.forest import HyperbolicForestClassifier, HyperbolicTreeClassifier
from hypermargin.geometry.hyperplanes import arc_points
from hypermargin.geometry.isometries import transform_normal, translation_to_origin
from hypermargin.plotting.display import PoincareDisplay, Zoom

#: Points along a split before it is cut to its node: more than one per pixel of a picture of usual size.
POINTS = 2000
#: Width of the line of the root's split, the factor per level below, and the least width, which still shows in print.
FIRST_WIDTH, NARROWING, LEAST_WIDTH = 2.6, 0.8, 0.5
LINE_COLOUR = "#202020"


class TreeDisplay:
    """A picture of a tree in the hyperbolic plane: its regions and its splits. Made by `from_estimator`.

    The split of the root has the widest line; splits below end at those above them.

    Attributes
    ----------
    ax_, figure_ : the axes and the figure.
    disk_ : PoincareDisplay
    lines_ : LineCollection
        One line for each connected piece of a split, in the order of `nodes_`.
    nodes_ : (n_lines,) array
        The node of each line.
    """

    def __init__(self, tree: HyperbolicTreeClassifier, disk: PoincareDisplay, max_depth: int | None = None) -> None:
        self.tree, self.disk_ = tree, disk
        self.ax_, self.figure_ = disk.ax_, disk.figure_
        found = list(self._lines(max_depth))
        self.nodes_ = np.array([node for node, _, _ in found], dtype=int)
        self.lines_ = LineCollection(
            [line for _, _, line in found],
            colors=LINE_COLOUR,
            linewidths=[max(FIRST_WIDTH * NARROWING**depth, LEAST_WIDTH) for _, depth, _ in found],
            zorder=1.8,
        )
        self.ax_.add_collection(self.lines_, autolim=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: HyperbolicTreeClassifier | HyperbolicForestClassifier,
        X: ArrayLike,
        y: ArrayLike,
        *,
        index: int = 0,
        max_depth: int | None = None,
        center: str | ArrayLike | None = None,
        ax: Axes | None = None,
        regions: bool = True,
        zoom: Zoom = None,
        resolution: int = 400,
        legend: bool = True,
    ) -> "TreeDisplay":
        """Draw a fitted tree, or tree number `index` of a forest, over points in the coordinates that it takes.

        `max_depth` is the number of levels of splits to draw, all by default; regions are those of the whole tree. The
        other parameters are those of `PoincareDisplay.from_estimator`.
        """
        tree: Any = estimator
        if isinstance(estimator, HyperbolicForestClassifier):
            tree = estimator.estimators_[index]
        elif not isinstance(estimator, HyperbolicTreeClassifier):
            raise TypeError(f"TreeDisplay draws trees and forests, not {type(estimator).__name__}")
        disk = PoincareDisplay.from_estimator(
            tree, X, y, center=center, ax=ax, regions=regions, zoom=zoom, resolution=resolution, legend=legend
        )
        return cls(tree, disk, max_depth)

    def _lines(self, max_depth: int | None) -> Iterator[tuple[int, int, Array]]:
        """Node, depth and points on the disk, shape (m, 2), of every piece of a split."""
        tree, (normals, thresholds) = self.tree.tree_, self.tree.split_boundaries()
        normals = transform_normal(normals, translation_to_origin(self.disk_.center)) if len(normals) else normals
        above: dict[int, list[tuple[int, bool]]] = {0: []}  # the splits on the way to a node, and their sides
        for depth, level in enumerate(tree.levels[:max_depth]):
            for node in level.tolist():
                row = int(tree.slot[node])
                for side, child in enumerate(tree.children[node].tolist()):
                    above[child] = [*above[node], (row, bool(side))]
                try:
                    points = arc_points(normals[row], POINTS, level=float(thresholds[row]))
                except ValueError:  # a level without points: everything is on one side
                    continue
                inside = np.ones(POINTS, dtype=bool)
                for other, side in above[node]:
                    inside &= (_scores(points, normals[other], float(thresholds[other])) > 0.0) == side
                for piece in _runs(inside):
                    if piece.size > 1:
                        yield node, depth, points[piece]


def _scores(points: Array, w: Array, threshold: float) -> Array:
    """``x * w - threshold`` for points p of the closed disk, times ``1 - |p|^2``, which is finite on the edge."""
    square = np.sum(points**2, axis=1)
    return (1.0 + square) * w[0] - 2.0 * (points @ w[1:]) - threshold * np.maximum(1.0 - square, 0.0)


def _runs(inside: np.ndarray) -> list[np.ndarray]:
    """The positions of each unbroken run of True."""
    there = np.flatnonzero(inside)
    return np.split(there, np.flatnonzero(np.diff(there) > 1) + 1) if there.size else []
