"""The content of the page in one dictionary of plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.explorer.encoding import index_dtype, packed, packed_points
from hypermargin.explorer.path import certified_path
from hypermargin.explorer.plane import Plane, best_plane
from hypermargin.explorer.shown_model import ShownModel, named_models, packed_curves, packed_regions
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.geometry.models import to_lorentz
from hypermargin.plotting.palette import CLASS_COLOURS, LINE_STYLES


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
) -> dict[str, Any]:
    """The scene of models and points; parameters as in `explore`."""
    shown = [ShownModel(name, model, samples.X, geometry, curvature) for name, model in named_models(models).items()]
    geometry = geometry if geometry is not None else shown[0].geometry if shown else "lorentz"
    curvature = float(curvature if curvature is not None else shown[0].curvature if shown else 1.0)
    tables = [np.asarray(X, dtype=np.float64) for X in (samples.X, samples.X_test) if X is not None]
    points = to_lorentz(np.concatenate(tables), geometry, curvature)
    plane = best_plane(points[: samples.n_train])
    shadows = plane.shadow(points)
    labels = _labels(samples)
    classes = _classes(labels, shown)
    if labels is not None:
        labels = _comparable(labels, [labels, classes])
    number = np.full(len(points), -1) if labels is None else np.searchsorted(classes, labels)
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
        "lineStyles": [_line_style(*style) for style in LINE_STYLES],
        "points": packed_points(shadows),
        "labels": None if labels is None else packed(number, index_dtype(len(classes))),
        "test": packed(np.arange(len(points)) >= samples.n_train, "uint8") if samples.n_test else None,
        "ids": _ids(samples),
        "models": [_model(model, plane, points, shadows, labels, classes) for model in shown],
        "path": None,
    }
    if path is not None:
        if samples.y is None or not shown:
            raise ValueError("a path over C needs a model and labels to fit it to")
        first = shown[0]
        scene["path"] = certified_path(
            first.estimator, path, samples.X, samples.y, plane, shadows[: samples.n_train], geometry, curvature
        )
    return scene


def _model(
    model: ShownModel, plane: Plane, points: Array, shadows: Array, labels: np.ndarray | None, classes: np.ndarray
) -> dict[str, Any]:
    names = _comparable(model.classes, [model.classes, classes])
    own = np.full(len(points), -1) if labels is None else _index_in(names, labels)
    regions = model.regions(plane, shadows)
    boundary = model.boundary(plane)
    return {
        "name": model.name,
        "classes": np.searchsorted(classes, names).tolist(),
        "answers": model.answers(plane, points, shadows, own),
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


def _classes(labels: np.ndarray | None, shown: list[ShownModel]) -> np.ndarray:
    """All classes of labels and models, in the order of their colours."""
    parts = [model.classes for model in shown] + ([labels] if labels is not None else [])
    if not parts:
        return np.array([], dtype=str)
    return np.unique(np.concatenate([_comparable(part, parts) for part in parts]))


def _comparable(labels: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """Labels as text if some of the others are text and some numbers, as in a file and a model."""
    mixed = len({other.dtype.kind in "biuf" for other in others}) > 1
    return labels.astype(str) if mixed or labels.dtype.kind == "O" else labels


def _index_in(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Indices of labels among classes in any order, -1 for labels that are not among them."""
    order = np.argsort(classes)
    at = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
    return np.where(classes[at] == labels, at, -1)


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
