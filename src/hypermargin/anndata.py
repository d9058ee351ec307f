"""Cells of an AnnData, classified by their hyperbolic coordinates in scanpy's style: by names, results written back.

The package anndata is not imported here: only ``obs``, ``obsm`` and ``uns`` are used.
"""

from copy import copy
from io import BytesIO
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from hypermargin.arrays import Array
from hypermargin.data.ingest import missing_labels
from hypermargin.data.readers import MISSING
from hypermargin.estimators import HyperbolicClassifierCV, HyperbolicSVC, HyperbolicSVCCV, load_model, save_model
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.geometry.models import to_lorentz
from hypermargin.geometry.validation import GEOMETRIES

#: Folds of `reject` and `suspects`: each takes that many fits.
FOLDS = 5
#: The label of cells that may have several labels or none, and its colour: the grey that scanpy has for missing values.
UNKNOWN, UNKNOWN_COLOUR = "unknown", "#d3d3d3"
#: The geometries that parts of the name of a basis stand for.
HINTS = {"hyperboloid": "lorentz", "half": "halfspace"} | {name: name for name in GEOMETRIES[:5]}


def classify(
    adata: Any,
    basis: str = "X_poincare",
    groupby: str = "cell_type",
    *,
    estimator: HyperbolicClassifier | None = None,
    C: float | None = None,
    geometry: str | None = None,
    curvature: float = 1.0,
    key_added: str = "hypermargin",
    reject: float | None = None,
    radii: bool | None = None,
    verbose: int = 1,
) -> HyperbolicClassifier:
    """Fit a classifier to the cells that have a label, and write its predictions for all cells into `adata`.

    Parameters
    ----------
    adata : AnnData
    basis : str, default="X_poincare"
        The coordinates, an array of ``adata.obsm``.
    groupby : str, default="cell_type"
        The labels, a column of ``adata.obs``. Cells without one (NaN, None, "" or the text "nan") are predicted.
    estimator : classifier of hypermargin, optional
        By default a `HyperbolicClassifierCV`, which chooses among all families by cross-validation.
    C : float, optional
        Take a `HyperbolicSVC` with this parameter instead.
    geometry : str, optional
        What the coordinates are, as in `HyperbolicSVC`; by default read from the name of `basis`.
    curvature : float, default=1.0
    key_added : str, default="hypermargin"
        Where the results go:

        * ``adata.obs[key_added]``: the predicted label, with the categories and colours of `groupby`;
        * ``adata.obs[key_added + "_probability"]``: the probability of that label;
        * ``adata.obs[key_added + "_radius"]``: the distance within which it cannot change, if there are `radii`;
        * ``adata.obsm[key_added + "_probabilities"]``: a column for each label;
        * ``adata.uns[key_added]``: the settings, the cross-validated accuracy and the explanation of the choice, and
          the classifier itself (see `model`).
    reject : float, optional
        An error rate, such as 0.05: cells that may have several labels at it, or none, get the label "unknown"
        (`predict_set`). Five more fits of the chosen classifier calibrate it.
    radii : bool, optional
        Whether to certify radii. By default where the classifier has hyperplanes, for which it takes no time; a forest
        takes minutes for thousands of cells.
    verbose : int, default=1
        1 or more shows the progress of the choice; 0 is silent.

    Returns
    -------
    The fitted classifier.
    """
    X, labels = _coordinates(adata, basis), _labels(adata, groupby)
    if estimator is None:
        space: dict[str, Any] = {"geometry": geometry or _geometry_of(basis), "curvature": curvature}
        estimator = HyperbolicClassifierCV(verbose=verbose, **space) if C is None else HyperbolicSVC(C=C, **space)
    elif C is not None or geometry is not None or curvature != 1.0:
        raise ValueError("C, geometry and curvature belong to the estimator: set them there, or pass no estimator")
    known = _known(labels)
    if not known.any():
        raise ValueError(f"no cell has a label in obs[{groupby!r}]")
    y = np.asarray(labels[known], dtype=str)
    estimator.fit(X[known], y)
    chosen: Any = getattr(estimator, "best_model_", estimator)
    if radii and not hasattr(chosen, "certified_radius"):
        raise ValueError(f"a {type(chosen).__name__} has no certified radii: leave radii out")
    unsure = np.zeros(len(X), dtype=bool)
    if reject is not None:
        sets = copy(chosen).conformalize(X[known], y, cv=FOLDS).predict_set(X, reject)
        unsure = sets.sum(axis=1) != 1
    radius = estimator.certified_radius(X) if radii or (radii is None and hasattr(chosen, "coef_")) else None
    _write(adata, estimator, X, labels, basis, groupby, key_added, unsure, radius)
    return estimator


def suspects(adata: Any, *, key: str = "hypermargin") -> Any:
    """Labels that the other cells contradict, as a data frame: the most doubtful first.

    The classifier of `classify` is fitted anew without each of five folds. What counts is the probability that a cell
    of the held-out fold has for its *own* label, which is written to ``adata.obs[key + "_own_probability"]``.

    Returns
    -------
    DataFrame
        A row for each labelled cell, by its name: `label`, `own_probability`, and `predicted` without its fold.
    """
    import pandas as pd  # comes with anndata

    fitted, settings = model(adata, key), adata.uns[key]
    chosen: Any = getattr(fitted, "best_model_", fitted)
    labels = _labels(adata, str(settings["groupby"]))
    known = _known(labels)
    X, y = _coordinates(adata, str(settings["basis"]))[known], np.asarray(labels[known], dtype=str)
    own, predicted = np.zeros(len(y)), y.astype(object)
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        part = clone(chosen).fit(X[train], y[train])
        probability = part.predict_proba(X[test])
        places = np.minimum(np.searchsorted(part.classes_, y[test]), len(part.classes_) - 1)
        known_there = part.classes_[places] == y[test]
        own[test] = np.where(known_there, probability[np.arange(len(test)), places], 0.0)
        predicted[test] = part.classes_[probability.argmax(axis=1)]
    every = np.full(len(known), np.nan)
    every[known] = own
    adata.obs[f"{key}_own_probability"] = every
    found = pd.DataFrame({"label": y, "own_probability": own, "predicted": predicted}, index=adata.obs_names[known])
    return found.sort_values("own_probability", kind="stable")


def model(adata: Any, key: str = "hypermargin") -> HyperbolicClassifier:
    """The classifier that `classify` stored in ``adata.uns[key]``; it is kept with the AnnData, also in .h5ad files."""
    if key not in adata.uns or "model" not in adata.uns[key]:
        raise KeyError(f"uns[{key!r}] holds no classifier: call hypermargin.anndata.classify first")
    return load_model(BytesIO(np.asarray(adata.uns[key]["model"], dtype=np.uint8).tobytes()))


def plot(adata: Any, color: str | None = None, *, key: str = "hypermargin", zoom: str | None = "data", ax=None) -> Any:
    """Draw cells on the Poincaré disk over the regions of the classifier of `classify`; returns a `PoincareDisplay`.

    Parameters
    ----------
    adata : AnnData
    color : str, optional
        A column of obs to colour cells by, of categories or numbers; the predicted label by default. Regions are drawn
        where it holds labels of the classifier. Colours are those of scanpy (``uns[color + "_colors"]``) if there are
        any.
    key : str, default="hypermargin"
        As `key_added` in `classify`.
    zoom : {"data", "boundary"} or None, default="data"
        What to show; None is the whole disk.
    ax : matplotlib axes, optional
    """
    from hypermargin.plotting import PoincareDisplay

    fitted, column = model(adata, key), color or key
    labels, X = _labels(adata, column), _coordinates(adata, str(adata.uns[key]["basis"]))
    shown = _known(labels)
    values = labels[shown]
    if values.dtype.kind in "iuf" and not hasattr(values, "cat"):
        display = _points(fitted, X[shown], None, zoom, ax)
        display.points_.pop(None).remove()
        places = display._on_disk(display.X)
        drawn = display.ax_.scatter(*places.T, c=np.asarray(values, dtype=float), s=12.0, zorder=2.0)
        display.figure_.colorbar(drawn, ax=display.ax_, label=column)
        return display
    names = np.asarray(values, dtype=str)
    if color is None or set(names) <= set(fitted.classes_.tolist()):
        colours = _colours(adata, column, labels) or _colours(adata, str(adata.uns[key]["groupby"]), None)
        return PoincareDisplay.from_estimator(
            fitted, X[shown], np.where(names == UNKNOWN, "", names), zoom=zoom, ax=ax, colours=colours
        )
    return _points(fitted, X[shown], names, zoom, ax, _colours(adata, column, labels))


def _points(fitted: Any, X: Array, names: Any, zoom: str | None, ax: Any, colours: dict[str, str] | None = None) -> Any:
    """Cells alone, without regions; grey rings where there are no names."""
    import matplotlib

    from hypermargin.plotting import PoincareDisplay

    names = np.full(len(X), None) if names is None else names
    classes = np.unique(names[names != None]) if names.dtype == object else np.unique(names)  # noqa: E711
    if colours is None:  # any number of categories, as batches and donors are
        shades = matplotlib.colormaps["turbo"](np.linspace(0.03, 0.97, max(1, len(classes))))
        colours = {name: matplotlib.colors.to_hex(shade) for name, shade in zip(classes.tolist(), shades, strict=False)}
    points = to_lorentz(X, fitted.geometry, fitted.curvature)
    return PoincareDisplay(points, names, classes=classes, colours=colours).plot(ax, zoom=zoom)


def _colours(adata: Any, column: str, labels: Any) -> dict[str, str] | None:
    """The colours that scanpy has for the categories of a column; None where it has none."""
    labels = adata.obs.get(column) if labels is None else labels
    colours = adata.uns.get(f"{column}_colors")
    if colours is None or not hasattr(labels, "cat"):
        return None
    return dict(zip(map(str, labels.cat.categories), map(str, colours), strict=False))


def _coordinates(adata: Any, basis: str) -> Array:
    if basis not in adata.obsm:
        known = ", ".join(adata.obsm.keys()) or "nothing"
        raise KeyError(f"adata.obsm has no {basis!r}; it has {known}")
    return np.asarray(adata.obsm[basis], dtype=np.float64)


def _labels(adata: Any, column: str) -> Any:
    if column not in adata.obs:
        known = ", ".join(map(str, adata.obs.columns)) or "nothing"
        raise KeyError(f"adata.obs has no {column!r}; it has {known}")
    return adata.obs[column]


def _known(labels: Any) -> np.ndarray:
    """Which cells have a label; texts such as "nan" are none."""
    return ~missing_labels(labels) & ~np.isin(np.asarray(labels, dtype=str), sorted(MISSING))


def _geometry_of(basis: str) -> str:
    """The geometry that the name of a basis stands for."""
    for hint, geometry in HINTS.items():
        if hint in basis.lower():
            return geometry
    raise ValueError(
        f"the name {basis!r} does not tell what the coordinates are: pass geometry={GEOMETRIES[1]!r} or another"
    )


def _write(
    adata: Any,
    fitted: Any,
    X: Array,
    labels: Any,
    basis: str,
    groupby: str,
    key: str,
    unsure: np.ndarray,
    radius: Array | None,
) -> None:
    import pandas as pd  # comes with anndata

    probabilities = fitted.predict_proba(X)
    names = [str(name) for name in fitted.classes_]
    order = [str(name) for name in getattr(getattr(labels, "cat", None), "categories", names)]
    order = [name for name in order if name in names]
    predicted = np.asarray(names, dtype=object)[probabilities.argmax(axis=1)]
    predicted[unsure] = UNKNOWN
    adata.obs[key] = pd.Categorical(predicted, categories=order + [UNKNOWN] * bool(unsure.any()))
    adata.obs[f"{key}_probability"] = probabilities.max(axis=1)
    if radius is not None:
        adata.obs[f"{key}_radius"] = radius
    adata.obsm[f"{key}_probabilities"] = pd.DataFrame(probabilities, index=adata.obs_names, columns=names)
    colours = _colours(adata, groupby, labels)
    if colours is not None and all(name in colours for name in order):
        adata.uns[f"{key}_colors"] = [colours[name] for name in order] + [UNKNOWN_COLOUR] * bool(unsure.any())
    file = BytesIO()
    save_model(fitted, file, certificates=False)
    known = _known(labels)
    settings: dict[str, Any] = {
        "basis": basis,
        "groupby": groupby,
        "classifier": type(fitted).__name__,
        "geometry": fitted.geometry,
        "curvature": float(fitted.curvature),
        "labelled_cells": int(known.sum()),
        "predicted_cells": int((~known).sum()),
        "model": np.frombuffer(file.getvalue(), dtype=np.uint8).copy(),
    }
    if hasattr(fitted, "gaps_"):
        settings |= {"C": float(fitted.C), "largest_gap": float(np.max(fitted.gaps_))}
    if isinstance(fitted, HyperbolicSVCCV):
        settings["cross_validated_accuracy"] = float(fitted.scores_.mean(axis=0).max())
    if isinstance(fitted, HyperbolicClassifierCV):
        settings |= {"cross_validated_accuracy": float(fitted.best_score_), "explanation": fitted.explanation_}
    adata.uns[key] = settings
