"""Cells of an AnnData, classified by their hyperbolic coordinates in scanpy's style: by names, results written back.

The package anndata is not imported here: only ``obs``, ``obsm`` and ``uns`` are used.
"""

from io import BytesIO
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.data.ingest import missing_labels
from hypermargin.estimators import HyperbolicSVC, HyperbolicSVCCV, load_model, save_model
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.geometry.validation import GEOMETRIES

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
) -> HyperbolicClassifier:
    """Fit a classifier to the cells that have a label, and write its predictions for all cells into `adata`.

    Parameters
    ----------
    adata : AnnData
    basis : str, default="X_poincare"
        The coordinates, an array of ``adata.obsm``.
    groupby : str, default="cell_type"
        The labels, a column of ``adata.obs``. Cells without one are predicted.
    estimator : classifier of hypermargin, optional
        By default a `HyperbolicSVC`.
    C : float, optional
        The parameter of the `HyperbolicSVC`; by default chosen by cross-validation.
    geometry : str, optional
        What the coordinates are, as in `HyperbolicSVC`; by default read from the name of `basis`.
    curvature : float, default=1.0
    key_added : str, default="hypermargin"
        Where the results go:

        * ``adata.obs[key_added]``: the predicted label, with the categories and colours of `groupby`;
        * ``adata.obs[key_added + "_probability"]``: the probability of that label;
        * ``adata.obs[key_added + "_radius"]``: the distance within which it cannot change, if the classifier
          certifies one;
        * ``adata.obsm[key_added + "_probabilities"]``: a column for each label;
        * ``adata.uns[key_added]``: the settings, and the classifier itself (see `model`).

    Returns
    -------
    The fitted classifier.
    """
    X, labels = _coordinates(adata, basis), _labels(adata, groupby)
    if estimator is None:
        space: dict[str, Any] = {"geometry": geometry or _geometry_of(basis), "curvature": curvature}
        estimator = HyperbolicSVCCV(**space) if C is None else HyperbolicSVC(C=C, **space)
    elif C is not None or geometry is not None or curvature != 1.0:
        raise ValueError("C, geometry and curvature belong to the estimator: set them there, or pass no estimator")
    known = ~missing_labels(labels)
    if not known.any():
        raise ValueError(f"no cell has a label in obs[{groupby!r}]")
    estimator.fit(X[known], np.asarray(labels[known], dtype=str))
    _write(adata, estimator, X, labels, basis, groupby, key_added)
    return estimator


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
        A column of obs to colour cells by; the predicted label by default.
    key : str, default="hypermargin"
        As `key_added` in `classify`.
    zoom : {"data", "boundary"} or None, default="data"
        What to show; None is the whole disk.
    ax : matplotlib axes, optional
    """
    from hypermargin.plotting import PoincareDisplay

    fitted = model(adata, key)
    labels = _labels(adata, color or key)
    X, shown = _coordinates(adata, str(adata.uns[key]["basis"])), ~missing_labels(labels)
    return PoincareDisplay.from_estimator(fitted, X[shown], np.asarray(labels[shown], dtype=str), zoom=zoom, ax=ax)


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


def _geometry_of(basis: str) -> str:
    """The geometry that the name of a basis stands for."""
    for hint, geometry in HINTS.items():
        if hint in basis.lower():
            return geometry
    raise ValueError(
        f"the name {basis!r} does not tell what the coordinates are: pass geometry={GEOMETRIES[1]!r} or another"
    )


def _write(adata: Any, fitted: Any, X: Array, labels: Any, basis: str, groupby: str, key: str) -> None:
    import pandas as pd  # comes with anndata

    probabilities = fitted.predict_proba(X)
    names = [str(name) for name in fitted.classes_]
    order = [str(name) for name in getattr(getattr(labels, "cat", None), "categories", names)]
    order = [name for name in order if name in names]
    predicted = np.asarray(names, dtype=object)[probabilities.argmax(axis=1)]
    adata.obs[key] = pd.Categorical(predicted, categories=order)
    adata.obs[f"{key}_probability"] = probabilities.max(axis=1)
    if hasattr(fitted, "certified_radius"):
        adata.obs[f"{key}_radius"] = fitted.certified_radius(X)
    adata.obsm[f"{key}_probabilities"] = pd.DataFrame(probabilities, index=adata.obs_names, columns=names)
    colours = adata.uns.get(f"{groupby}_colors")
    if colours is not None and hasattr(labels, "cat"):
        by_name = dict(zip(map(str, labels.cat.categories), colours, strict=False))
        if all(name in by_name for name in order):
            adata.uns[f"{key}_colors"] = [by_name[name] for name in order]
    file = BytesIO()
    save_model(fitted, file, certificates=False)
    known = ~missing_labels(labels)
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
    adata.uns[key] = settings
