"""`PoincareDisplay`: points by class, boundaries of several methods and decision regions on the Poincaré disk."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.contour import ContourSet
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.data.ingest import unit_points
from hypermargin.geometry.hyperplanes import arc_points
from hypermargin.geometry.isometries import move_from_origin, move_to_origin, transform_normal, translation_to_origin
from hypermargin.geometry.lorentz import minkowski_dot, quadratic_form, radius
from hypermargin.geometry.models import from_lorentz, to_lorentz
from hypermargin.plotting.disk import (
    WHOLE_DISK,
    Window,
    center_point,
    coordinates_of,
    draw_disk,
    geodesic_segments,
    grid_in_window,
    in_columns_of,
    line_style,
    make_room_for,
    marker_handle,
    missing_labels,
    new_axes,
    normal_and_intercept,
    plane_points,
    scatter_classes,
    window_around,
)
from hypermargin.plotting.palette import UNLABELLED, class_colours
from hypermargin.solvers.base import Solution

#: Regions are evaluated up to this hyperbolic radius: less than the 18 that every coordinate model can represent.
REGION_RADIUS = 16.0
#: Share of the class colour in the colour of its region, the rest is white: points stay visible on it.
REGION_STRENGTH = 0.28
Zoom = str | tuple[float, float, float] | None


class PoincareDisplay:
    """A picture of a classifier in the hyperbolic plane. Made by `from_estimator` or `from_solutions`.

    Parameters
    ----------
    X, y : (n, 3) array and (n,) array
        Training points in Lorentz coordinates, and their labels. Where a label is None, NaN or "" the point is a grey
        ring.
    X_test, y_test : arrays, optional
        Test points, drawn as triangles.
    boundaries : mapping of name to (w, intercept), optional
        Boundaries ``x * w + intercept = 0``, one per method.
    predict : callable, optional
        Labels from Lorentz points; colours the regions.
    score : callable, optional
        Scores of two classes from Lorentz points; the levels -1, 0 and 1 are drawn: boundary and margins of a kernel.
    center : "mean" or (3,) array, optional
        The Lorentz point that an isometry moves to the middle of the disk: the Fréchet mean of X, or the point given;
        by default the origin.
    edges : (m, 2) array of int, optional
        Pairs of rows of X to join by geodesics, as in a tree.
    classes : array, optional
        All labels, in the order of their colours; by default those of y and y_test.
    colours : mapping of label to colour, optional
        Instead of `plotting.palette.CLASS_COLOURS`.

    Attributes
    ----------
    ax_, figure_ : the axes and the figure.
    points_, test_points_ : dict of label to PathCollection; None is the label of those that have none.
    lines_ : dict of name to Line2D; a method without a boundary is left out.
    regions_ : AxesImage or None.
    levels_ : ContourSet or None.
    legend_ : Legend or None.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        boundaries: Mapping[str, tuple[Array, float]] | None = None,
        predict: Callable[[Array], np.ndarray] | None = None,
        score: Callable[[Array], Array] | None = None,
        center: str | ArrayLike | None = None,
        edges: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        colours: Mapping[Any, str] | None = None,
    ) -> None:
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test belong together: give both or neither")
        self.X, self.y = plane_points(X, y, "X")
        self.X_test: Array | None = None
        self.y_test: np.ndarray | None = None
        if X_test is not None:
            self.X_test, self.y_test = plane_points(X_test, y_test, "X_test")
        self.boundaries = dict(boundaries or {})
        self.predict, self.score = predict, score
        self.center = center_point(center, self.X)
        self.edges, self.colours = edges, colours
        labels = self.y if self.y_test is None else np.concatenate([self.y, self.y_test])
        labels = np.array(labels[~missing_labels(labels)].tolist())
        self.classes = np.unique(labels) if classes is None else np.asarray(classes)
        unknown = np.setdiff1d(labels, self.classes)
        if unknown.size:
            raise ValueError(f"there are labels that are not among the classes: {', '.join(map(str, unknown))}")

    # -- ways to make one --------------------------------------------------------------------------------------------

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        geometry: str | None = None,
        curvature: float | None = None,
        center: str | ArrayLike | None = None,
        edges: ArrayLike | None = None,
        ax: Axes | None = None,
        regions: bool = True,
        zoom: Zoom = None,
        resolution: int = 400,
        legend: bool = True,
        colours: Mapping[Any, str] | None = None,
    ) -> "PoincareDisplay":
        """Draw a fitted classifier: decision regions and, for two classes, the boundary.

        X and X_test are in the coordinates that the estimator takes. `geometry` and `curvature` are read from it (or
        from the ``best_estimator_`` of a search); for other classifiers and pipelines they must be given.
        The remaining parameters are those of the class and of `plot`.
        """
        geometry, curvature = coordinates_of(estimator, geometry, curvature)
        fitted = getattr(estimator, "best_estimator_", estimator)
        boundaries = {}
        two = len(getattr(fitted, "classes_", ())) == 2
        if two and hasattr(fitted, "solutions_") and hasattr(fitted, "coef_"):
            curved = getattr(fitted, "boundary", "geodesic") == "curve"
            boundaries["curve" if curved else fitted.solver] = fitted.solutions_[0]

        def of_points(method: Callable[[Any], np.ndarray]) -> Callable[[Array], np.ndarray]:
            width = np.shape(X)[1]
            return lambda points: method(in_columns_of(X, from_lorentz(points, geometry, curvature, width)))

        return cls(
            unit_points(np.asarray(X, dtype=np.float64), geometry, curvature),
            y,
            X_test=None if X_test is None else unit_points(np.asarray(X_test, dtype=np.float64), geometry, curvature),
            y_test=y_test,
            boundaries={name: normal_and_intercept(name, solution) for name, solution in boundaries.items()},
            predict=of_points(estimator.predict),
            score=of_points(estimator.decision_function) if two and hasattr(fitted, "dual_coef_") else None,
            center=center,
            edges=edges,
            classes=estimator.classes_,
            colours=colours,
        ).plot(ax, regions=regions, zoom=zoom, resolution=resolution, legend=legend)

    @classmethod
    def from_solutions(
        cls,
        solutions: Mapping[str, Solution | ArrayLike],
        X: ArrayLike,
        y: ArrayLike,
        *,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        center: str | ArrayLike | None = None,
        edges: ArrayLike | None = None,
        ax: Axes | None = None,
        regions: bool = False,
        zoom: Zoom = None,
        resolution: int = 400,
        legend: bool = True,
    ) -> "PoincareDisplay":
        """Draw the boundaries of several methods, given as solutions or normals w, over points in Lorentz coordinates.

        With ``regions=True`` and a single solution its two sides are coloured (two classes only).
        """
        boundaries = {name: normal_and_intercept(name, solution) for name, solution in solutions.items()}
        display = cls(X, y, X_test=X_test, y_test=y_test, boundaries=boundaries, center=center, edges=edges)
        if regions:
            if len(boundaries) != 1 or len(display.classes) != 2:
                raise ValueError("regions=True needs exactly one solution and two classes")
            ((w, intercept),) = boundaries.values()
            display.predict = lambda points: display.classes[(minkowski_dot(points, w) + intercept > 0.0).astype(int)]
        return display.plot(ax, regions=regions, zoom=zoom, resolution=resolution, legend=legend)

    # -- drawing -----------------------------------------------------------------------------------------------------

    def plot(
        self,
        ax: Axes | None = None,
        *,
        regions: bool = True,
        zoom: Zoom = None,
        resolution: int = 400,
        legend: bool = True,
    ) -> "PoincareDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : Axes, optional
        regions : bool
            Colour the disk by the predicted class, where the display can predict.
        zoom : None, "data", "boundary" or (x, y, half_width)
            The whole disk, the square around the points, that around the points nearest to the boundaries, or a square
            in disk coordinates.
        resolution : int
            Pixels along a side of the coloured square.
        legend : bool
        """
        names = self.classes.tolist()
        if self.colours is None:
            colours = dict(zip(names, class_colours(len(names)), strict=True))
        else:
            colours = {name: self.colours.get(name, UNLABELLED) for name in names}
        points = self._on_disk(self.X)
        test_points = None if self.X_test is None else self._on_disk(self.X_test)
        curves = {name: self._curve(w, intercept) for name, (w, intercept) in self.boundaries.items()}
        window = self._window(zoom, points, test_points)
        own_figure = ax is None
        ax = new_axes() if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        disk = draw_disk(ax, window)
        self.regions_ = None
        if regions and self.predict is not None:
            self.regions_ = ax.imshow(
                self._region_colours(window, resolution, colours),
                extent=window.extent,
                origin="lower",
                interpolation="bilinear",
                zorder=0.5,
                aspect="equal",
            )
            self.regions_.set_clip_path(disk)
        if self.edges is not None:
            segments = geodesic_segments(move_to_origin(self.X, self.center), self.edges)
            ax.add_collection(segments, autolim=False)
        self.points_ = scatter_classes(ax, points, self.y, colours, marker="o")
        self.test_points_ = {}
        if test_points is not None and self.y_test is not None:
            self.test_points_ = scatter_classes(ax, test_points, self.y_test, colours, marker="^")
        self.lines_ = {}
        for k, (name, curve) in enumerate(curves.items()):
            if curve is not None:
                (self.lines_[name],) = ax.plot(*curve.T, label=name, zorder=3.0, **line_style(k))
                self.lines_[name].set_clip_path(disk)
        self.levels_ = None if self.score is None else self._draw_levels(ax, window, resolution, disk)
        self.legend_ = self._legend(colours) if legend else None
        if own_figure and self.legend_ is not None:
            make_room_for(self.legend_, ax)
        return self

    def _on_disk(self, X: Array) -> Array:
        return from_lorentz(move_to_origin(X, self.center), "poincare")

    def _curve(self, w: Array, intercept: float) -> Array | None:
        """Points of the boundary on the disk; None if it has none."""
        try:
            return arc_points(transform_normal(w, translation_to_origin(self.center)), 600, level=-intercept)
        except ValueError:  # a timelike or lightlike w without points on its level
            return None

    def _window(self, zoom: Zoom, points: Array, test_points: Array | None) -> Window:
        if zoom is None:
            return WHOLE_DISK
        if zoom == "data":
            return window_around(points if test_points is None else np.concatenate([points, test_points]))
        if zoom == "boundary":
            if not self.boundaries:
                raise ValueError("zoom='boundary' needs a boundary: draw a classifier of two classes, or solutions")
            near = set()
            for w, intercept in self.boundaries.values():
                score = np.abs(minkowski_dot(self.X, w) + intercept)
                near.update(np.argsort(score)[: max(5, len(score) // 10)].tolist())
            return window_around(points[sorted(near)], margin=0.2)
        if isinstance(zoom, str):
            raise ValueError(f"zoom must be None, 'data', 'boundary' or (x, y, half_width), got {zoom!r}")
        window = Window(*(float(value) for value in zoom))
        if not window.half_width > 0.0:
            raise ValueError(f"the half width of zoom must be positive, got {window.half_width!r}")
        return window

    def _grid(self, window: Window, resolution: int) -> Array:
        """Lorentz points at the pixels of the window, shape (resolution^2, 3)."""
        reach = max(1.0, REGION_RADIUS - float(radius(self.center)))
        return move_from_origin(to_lorentz(grid_in_window(window, resolution, reach), "poincare"), self.center)

    def _draw_levels(self, ax: Axes, window: Window, resolution: int, disk: Circle) -> ContourSet:
        """Draw the level lines of the score: 0 (the boundary), and -1 and 1 (the margins, dashed)."""
        assert self.score is not None
        values = np.reshape(self.score(self._grid(window, resolution)), (resolution, resolution))
        lines = ax.contour(
            *window.pixels(resolution),
            values,
            levels=[-1.0, 0.0, 1.0],
            colors="#202020",
            linewidths=[0.9, 1.6, 0.9],
            linestyles=["dashed", "solid", "dashed"],
            zorder=3.0,
        )
        lines.set_clip_path(disk)
        return lines

    def _region_colours(self, window: Window, resolution: int, colours: dict[Any, str]) -> Array:
        """Pale colours of the predicted classes, shape (resolution, resolution, 3)."""
        assert self.predict is not None
        predicted, index = np.unique(self.predict(self._grid(window, resolution)), return_inverse=True)
        own = np.array([to_rgb(colours[label]) for label in predicted.tolist()])
        pale = REGION_STRENGTH * own + 1.0 - REGION_STRENGTH
        return pale[index].reshape(resolution, resolution, 3)

    def _legend(self, colours: dict[Any, str]):
        """The legend to the right of the disk: classes, then train and test, then boundaries."""
        handles = [marker_handle(str(label), colour, "o") for label, colour in colours.items()]
        if None in self.points_ or None in self.test_points_:
            handles.append(marker_handle("no label", "none", "o", UNLABELLED))
        if self.X_test is not None:
            handles += [marker_handle("train", "#808080", "o"), marker_handle("test", "#808080", "^")]
        for k, name in enumerate(self.boundaries):
            if name in self.lines_:
                handles.append(Line2D([], [], label=name, **line_style(k)))
                continue
            w, _ = self.boundaries[name]
            kind = "timelike" if quadratic_form(w) < 0.0 else "lightlike" if np.any(w) else "zero"
            handles.append(Line2D([], [], linestyle="none", label=f"{name}: no boundary,\nw is {kind}"))
        if self.score is not None:
            handles.append(Line2D([], [], color="#202020", linewidth=1.6, label="score 0"))
            handles.append(Line2D([], [], color="#202020", linewidth=0.9, linestyle="dashed", label="score -1 and 1"))
        return self.ax_.legend(
            handles=handles,
            loc="center left",
            bbox_to_anchor=(1.02, 0.5),
            borderaxespad=0.0,
            frameon=False,
            ncols=1 if len(handles) <= 14 else 2,
        )
