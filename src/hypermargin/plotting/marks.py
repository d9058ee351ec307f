"""Points and lines, and what stands for them in the legend."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D

from hypermargin.arrays import Array
from hypermargin.plotting.palette import LINE_STYLES


def scatter_classes(
    ax: Axes, points: Array, y: np.ndarray, colours: dict[Any, str], marker: str
) -> dict[Any, PathCollection]:
    """Disk points, shape (n, 2), one collection for each class that occurs; many points are drawn smaller."""
    size = float(np.clip(12000.0 / len(points), 9.0, 36.0))
    edge = "black" if marker == "^" else "white"
    style: dict[str, Any] = {"marker": marker, "s": size, "linewidths": 0.06 * np.sqrt(size), "edgecolors": edge}
    drawn = {}
    for label, colour in colours.items():
        if np.any(y == label):
            drawn[label] = ax.scatter(*points[y == label].T, color=colour, zorder=2.0, **style)
    return drawn


def line_style(k: int) -> dict[str, Any]:
    """Colour, dashes and width of the k-th boundary."""
    colour, dashes, width = LINE_STYLES[k % len(LINE_STYLES)]
    return {"color": colour, "linestyle": dashes, "linewidth": width}


def marker_handle(label: str, colour: str, marker: str) -> Line2D:
    """A point for the legend."""
    edge = "black" if marker == "^" else "white"
    return Line2D(
        [], [], linestyle="none", marker=marker, color=colour, markeredgecolor=edge, markersize=8, label=label
    )
