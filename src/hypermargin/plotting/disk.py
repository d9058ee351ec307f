"""The Poincaré disk as a canvas: its frame, the window that is shown, and geodesic segments."""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.legend import Legend
from matplotlib.patches import Circle
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import move_from_origin, move_to_origin
from hypermargin.geometry.models import from_lorentz
from hypermargin.geometry.tangent import exp_origin, log_origin


class Window(NamedTuple):
    """The square part of the plane that is shown."""

    x: float
    y: float
    half_width: float

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom, top."""
        x, y, h = self
        return x - h, x + h, y - h, y + h


WHOLE_DISK = Window(0.0, 0.0, 1.01)
#: Side of the figure that holds the disk.
DISK_INCHES = 5.2


def window_around(points: Array, margin: float = 0.08) -> Window:
    """The smallest square window that holds disk points, shape (n, 2), with a margin, and no larger than the disk."""
    low, high = points.min(axis=0), points.max(axis=0)
    half_width = max(0.5 * float(np.max(high - low)) * (1.0 + 2.0 * margin), 1e-9)
    if half_width >= WHOLE_DISK.half_width:
        return WHOLE_DISK
    x, y = 0.5 * (low + high)
    return Window(float(x), float(y), half_width)


def new_axes() -> Axes:
    """Axes that fill a new square figure."""
    figure = plt.figure(figsize=(DISK_INCHES, DISK_INCHES))
    return figure.add_axes((0.02, 0.02, 0.96, 0.96))


def make_room_for(legend: Legend, ax: Axes) -> None:
    """Widen the figure of `new_axes` by what the legend on its right needs, so that the disk keeps its size."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    extra = legend.get_window_extent().width / figure.dpi + 0.25
    width = DISK_INCHES + extra
    figure.set_size_inches(width, DISK_INCHES)
    margin = 0.02 * DISK_INCHES / width
    ax.set_position((margin, 0.02, 0.96 * DISK_INCHES / width, 0.96))


def draw_disk(ax: Axes, window: Window) -> Circle:
    """Draw the disk and its edge, show `window` with equal scales and no axes, and return the disk's patch."""
    disk = Circle((0.0, 0.0), 1.0, facecolor="white", edgecolor="none", zorder=0)
    ax.add_patch(disk)
    ax.add_patch(Circle((0.0, 0.0), 1.0, facecolor="none", edgecolor="#404040", linewidth=1.2, zorder=1.2))
    left, right, bottom, top = window.extent
    ax.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set(visible=window != WHOLE_DISK, color="#B0B0B0")
    return disk


def grid_in_window(window: Window, resolution: int, max_radius: float) -> Array:
    """Disk points at the pixel centres of a window, shape (resolution^2, 2), rows from the bottom.

    Points beyond hyperbolic radius `max_radius`, and those outside the disk, are drawn in to it: what lies there is
    hidden by the disk's edge, and the colours run up to the edge without a seam.
    """
    left, right, bottom, top = window.extent
    offsets = (np.arange(resolution) + 0.5) / resolution
    x, y = np.meshgrid(left + (right - left) * offsets, bottom + (top - bottom) * offsets)
    points = np.column_stack([x.ravel(), y.ravel()])
    limit = np.tanh(0.5 * max_radius)
    return points * np.minimum(1.0, limit / np.maximum(np.linalg.norm(points, axis=1), limit))[:, None]


def geodesic_segments(X: Array, edges: ArrayLike, n_points: int = 24) -> LineCollection:
    """Geodesics between pairs of Lorentz points, X of shape (n, 3), `edges` of shape (m, 2), as lines on the disk."""
    pairs = np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(f"edges must be an (m, 2) array of integers, got shape {pairs.shape} of {pairs.dtype}")
    steps = np.linspace(0.0, 1.0, n_points)[:, None]
    lines = []
    for start, end in pairs:
        direction = log_origin(move_to_origin(X[end], X[start]))
        lines.append(from_lorentz(move_from_origin(exp_origin(steps * direction), X[start]), "poincare"))
    return LineCollection(lines, colors="#A0A0A0", linewidths=0.6, zorder=1.5)
