"""The content of the page in one dictionary of plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from hypermargin.arrays import Array
from hypermargin.data.ingest import unit_points
from hypermargin.explorer.encoding import index_dtype, packed, packed_points
from hypermargin.explorer.path import certified_path
from hypermargin.explorer.plane import Plane, best_plane
from hypermargin.explorer.shown_model import ShownModel, named_models, packed_curves, packed_regions
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.plotting.disk import missing_labels, pairs_of_rows
from hypermargin.plotting.palette import CLASS_COLOURS, LINE_STYLES, UNLABELLED


@dataclass(frozen=True, eq=False)
class ShownPoints:
    """Training points and test points as the user gave them, with labels and names."""

    X: Any
    y: np.ndarray | None
    ids: Sequence[Any] | None
    X_test: Any = None
    y_test: np.ndarray | None = None
    ids_test: Sequence[Any] | None = None

    @property
    def n_train(self) -> int:
        return len(self.X)

    @property
    def n_test(self) -> int:
        return 0 if self.X_test is None else len(self.X_test)


def make_scene(
    models: Any,
    samples: ShownPoints,
    *,
    title: str,
    path: int | Sequence[float] | None = None,
    geometry: str | None = None,
    curvature: float | None = None,
    center: str = "mean",
    edges: ArrayLike | None = None,
) -> dict[str, Any]:
    """The scene of models and points; parameters as in `explore`."""
    shown = [ShownModel(name, model, samples.X, geometry, curvature) for name, model in named_models(models).items()]
    geometry = geometry if geometry is not None else shown[0].geometry if shown else "lorentz"
    curvature = float(curvature if curvature is not None else shown[0].curvature if shown else 1.0)
    tables = [np.asarray(X, dtype=np.float64) for X in (samples.X, samples.X_test) if X is not None]
    points = unit_points(np.concatenate(tables), geometry, curvature)
    plane = best_plane(points[: samples.n_train])
    shadows = plane.shadow(points)
    labels = _labels(samples)
    if labels is None:
        labels = np.full(len(points), None)
    known = ~missing_labels(labels)
    own = np.array(labels[known].tolist())
    classes = _classes(own, shown)
    number = np.full(len(points), len(classes))  # after the last class: no label
    number[known] = _index_in(classes, own)
    scene: dict[str, Any] = {
        "title": title,
        "dim": plane.dim,
        "share": plane.share,
        "lengthUnit": 1.0 / curvature_scale(curvature),
        "start": plane.mean.tolist() if center == "mean" else [0.0, 0.0],
        "mean": plane.mean.tolist(),
        "count": len(points),
        "classes": [f"{name:g}" if isinstance(name, float) else str(name) for name in classes.tolist()],
        "palette": list(CLASS_COLOURS),
        "noColour": UNLABELLED,
        "lineStyles": [_line_style(*style) for style in LINE_STYLES],
        "points": packed_points(shadows),
        "labels": packed(number, index_dtype(len(classes))) if len(classes) else None,
        "unlabelled": None if known.all() or not len(classes) else len(classes),
        "edges": None if edges is None else packed(pairs_of_rows(edges, len(points)), index_dtype(len(points))),
        "test": packed(np.arange(len(points)) >= samples.n_train, "uint8") if samples.n_test else None,
        "ids": _ids(samples),
        "models": [_model(model, plane, points, shadows, number, classes) for model in shown],
        "path": None,
    }
    if path is not None:
        rows = np.flatnonzero(known[: samples.n_train])
        if not rows.size or not shown:
            raise ValueError("a path over C needs a model and labels to fit it to")
        X, y = _safe_indexing(samples.X, rows), np.array(labels[rows].tolist())
        scene["path"] = certified_path(shown[0].estimator, path, X, y, plane, shadows[rows], geometry, curvature)
    return scene


def _model(
    model: ShownModel, plane: Plane, points: Array, shadows: Array, number: np.ndarray, classes: np.ndarray
) -> dict[str, Any]:
    """One model; `number` is the place of each point's label among the classes of the page."""
    its_own = _index_in(classes, model.classes)
    place = np.full(len(classes) + 1, -1)
    place[its_own] = np.arange(len(its_own))
    regions = model.regions(plane, shadows)
    boundary = model.boundary(plane)
    return {
        "name": model.name,
        "classes": its_own.tolist(),
        "answers": model.answers(plane, points, shadows, place[number]),
        "regions": packed_regions(regions),
        "curves": None if boundary else packed_curves(regions.curves()),
        "levels": None if boundary else packed_curves(model.level_lines(plane, shadows)),
        "normal": boundary[0].tolist() if boundary else None,
        "intercept": boundary[1] if boundary else None,
    }


def _labels(samples: ShownPoints) -> np.ndarray | None:
    """All labels, training first; None without them."""
    parts = [np.asarray(y) for y in (samples.y, samples.y_test) if y is not None]
    if not parts:
        return None
    if sum(map(len, parts)) != samples.n_train + samples.n_test:
        raise ValueError("X_test and y_test belong together, and so do X and y: give labels for all points or for none")
    return np.concatenate(parts)


def _classes(labels: np.ndarray, shown: list[ShownModel]) -> np.ndarray:
    """All classes in the order of their colours: those of the first model, as in other pictures of it, then others.

    They are text if some are text and some numbers, as in a file and a model.
    """
    parts = [part for part in (*(model.classes for model in shown), np.unique(labels)) if len(part)]
    mixed = len({part.dtype.kind in "biuf" for part in parts}) > 1
    names = [part.astype(str) if mixed or part.dtype.kind == "O" else part for part in parts]
    together = np.concatenate(names) if names else np.array([], dtype=str)
    return together[np.sort(np.unique(together, return_index=True)[1])]


def _index_in(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Indices of labels, all of which are there, among the classes."""
    order = np.argsort(classes)
    return order[np.searchsorted(classes, labels.astype(classes.dtype), sorter=order)]


def _ids(samples: ShownPoints) -> list[str] | None:
    """Names of all points; None if none are given, and they are called by their numbers."""
    if samples.ids is None and samples.ids_test is None:
        return None
    n, m = samples.n_train, samples.n_test
    train = samples.ids if samples.ids is not None else range(n)
    test = samples.ids_test if samples.ids_test is not None else range(n, n + m)
    for given, expected, name in ((train, n, "ids"), (test, m, "ids_test")):
        if len(given) != expected:
            raise ValueError(f"{name} must name every point: there are {expected} points and {len(given)} names")
    return [str(name) for name in (*train, *test)]


def _line_style(colour: str, dashes: Any, width: float) -> dict[str, Any]:
    """A line style of matplotlib, the lengths of dashes and gaps as a list; a solid line has none."""
    return {"colour": colour, "dashes": [] if dashes == "solid" else list(dashes[1]), "width": width}
