"""The Poincaré disk as a canvas: what is drawn on it is checked, and how frame, points, lines and legend look."""

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import move_from_origin, move_to_origin
from hypermargin.geometry.lorentz import origin
from hypermargin.geometry.mean import frechet_mean
from hypermargin.geometry.metric import exp_origin, log_origin
from hypermargin.geometry.models import from_lorentz, to_lorentz
from hypermargin.plotting.palette import LINE_STYLES, UNLABELLED
from hypermargin.solvers.base import Solution


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

    def pixels(self, resolution: int) -> tuple[Array, Array]:
        """x and y of the middles of the pixels, from the left and from the bottom."""
        offsets = self.half_width * ((2.0 * np.arange(resolution) + 1.0) / resolution - 1.0)
        return self.x + offsets, self.y + offsets


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

    Points beyond hyperbolic radius `max_radius`, and outside the disk, are moved to that radius: the disk's edge hides
    them, and the colours reach the edge without a seam.
    """
    x, y = np.meshgrid(*window.pixels(resolution))
    points = np.column_stack([x.ravel(), y.ravel()])
    limit = np.tanh(0.5 * max_radius)
    return points * np.minimum(1.0, limit / np.maximum(np.linalg.norm(points, axis=1), limit))[:, None]


def geodesic_segments(X: Array, edges: ArrayLike, n_points: int = 24) -> LineCollection:
    """Geodesics between pairs of Lorentz points, X of shape (n, 3), `edges` of shape (m, 2), as lines on the disk."""
    steps = np.linspace(0.0, 1.0, n_points)[:, None]
    lines = []
    for start, end in pairs_of_rows(edges, len(X)):
        direction = log_origin(move_to_origin(X[end], X[start]))
        lines.append(from_lorentz(move_from_origin(exp_origin(steps * direction), X[start]), "poincare"))
    return LineCollection(lines, colors="#A0A0A0", linewidths=0.6, zorder=1.5)


# -- points, lines and their legend ------------------------------------------------------------------------------------


def scatter_classes(
    ax: Axes, points: Array, y: np.ndarray, colours: dict[Any, str], marker: str
) -> dict[Any, PathCollection]:
    """Draw disk points, shape (n, 2), one collection for each class that occurs; many points are drawn smaller.

    Points without a label are grey rings, under the key None.
    """
    size = float(np.clip(12000.0 / len(points), 9.0, 36.0))
    edge = "black" if marker == "^" else "white"
    style: dict[str, Any] = {"marker": marker, "s": size, "linewidths": 0.06 * np.sqrt(size), "edgecolors": edge}
    drawn: dict[Any, PathCollection] = {}
    missing = missing_labels(y)
    if missing.any():
        rings = style | {"facecolors": "none", "edgecolors": UNLABELLED, "linewidths": 0.2 * np.sqrt(size)}
        drawn[None] = ax.scatter(*points[missing].T, zorder=1.9, **rings)
    for label, colour in colours.items():
        if np.any(y == label):
            drawn[label] = ax.scatter(*points[y == label].T, color=colour, zorder=2.0, **style)
    return drawn


def line_style(k: int) -> dict[str, Any]:
    """Colour, dashes and width of the k-th boundary."""
    colour, dashes, width = LINE_STYLES[k % len(LINE_STYLES)]
    return {"color": colour, "linestyle": dashes, "linewidth": width}


def marker_handle(label: str, colour: str, marker: str, edge: str | None = None) -> Line2D:
    """A point for the legend."""
    edge = edge or ("black" if marker == "^" else "white")
    return Line2D(
        [], [], linestyle="none", marker=marker, color=colour, markeredgecolor=edge, markersize=8, label=label
    )


# -- inputs ------------------------------------------------------------------------------------------------------------


def plane_points(X: ArrayLike, y: ArrayLike | None, name: str) -> tuple[Array, np.ndarray]:
    """Lorentz points of the plane, shape (n, 3), and their labels, shape (n,); a `ValueError` if they are not."""
    points, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if points.ndim != 2 or points.shape[1] != 3:
        dimension = points.shape[1] - 1 if points.ndim == 2 else "unknown"
        raise ValueError(
            f"only the hyperbolic plane (d = 2) can be drawn; {name} has shape {points.shape}, d = {dimension}"
        )
    if labels.shape != (len(points),):
        raise ValueError(f"the labels of {name} must have shape ({len(points)},), got {labels.shape}")
    return to_lorentz(points, "lorentz"), labels


def center_point(center: str | ArrayLike | None, X: Array) -> Array:
    """The point to show at the middle of the disk, shape (3,): the origin, the mean of X, or the one given."""
    if center is None:
        return origin(2)
    if isinstance(center, str):
        if center != "mean":
            raise ValueError(f"center must be None, 'mean' or a Lorentz point, got {center!r}")
        return frechet_mean(X)
    return to_lorentz(np.asarray(center, dtype=np.float64), "lorentz")


def normal_and_intercept(name: str, solution: Solution | ArrayLike) -> tuple[Array, float]:
    """The boundary ``x * w + intercept = 0`` of a solution, or of a bare normal w."""
    if isinstance(solution, Solution):
        w, intercept = solution.w, float(solution.intercept)
    else:
        w, intercept = np.asarray(solution, dtype=np.float64), 0.0
    if w.shape != (3,) or not np.all(np.isfinite(w)):
        raise ValueError(f"only the hyperbolic plane (d = 2) can be drawn: the w of {name!r} must be 3 finite numbers")
    return w, intercept


def coordinates_of(estimator: Any, geometry: str | None, curvature: float | None) -> tuple[str, float]:
    """Geometry and curvature of a fitted classifier's coordinates: those given, else its own or a search's best."""
    check_is_fitted(estimator)
    fitted = getattr(estimator, "best_estimator_", estimator)
    geometry = geometry if geometry is not None else getattr(fitted, "geometry", None)
    if geometry is None:
        raise ValueError(f"{type(fitted).__name__} does not say what its coordinates are: pass geometry=...")
    return geometry, float(curvature if curvature is not None else getattr(fitted, "curvature", 1.0))


def missing_labels(y: np.ndarray) -> NDArray[np.bool_]:
    """Which labels are missing, shape (n,): None, NaN or empty text."""
    if y.dtype.kind == "f":
        return np.isnan(y)
    return np.array([label is None or label != label or label == "" for label in y.tolist()], dtype=bool)


def pairs_of_rows(edges: ArrayLike, n_points: int) -> NDArray[np.intp]:
    """Edges of a graph, shape (m, 2), as rows of the points that they join; a `ValueError` where they are not."""
    pairs = np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(f"edges must be an (m, 2) array of integers, got shape {pairs.shape} of {pairs.dtype}")
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < n_points:
        raise ValueError(f"edges must join rows from 0 to {n_points - 1}, got {pairs.min()} to {pairs.max()}")
    return pairs.astype(np.intp)


def in_columns_of(X: Any, coordinates: Array) -> Any:
    """`coordinates` as a data frame where X is one: an estimator fitted to named columns expects them again."""
    return type(X)(coordinates, columns=X.columns) if hasattr(X, "columns") else coordinates
