"""AnnData files: coordinates from obsm, labels from obs, the names of cells as ids."""

from typing import Any

import numpy as np

from hypermargin.cli.console import CommandError
from hypermargin.cli.reading.points import Points
from hypermargin.data.readers import as_labels

#: What may stand before the name of a column of obs.
PREFIX = "obs:"


def read_h5ad(path: str, obsm: str | None, label: str | None) -> Points:
    """The cells of a .h5ad file; the matrix of expressions is not read.

    Without `obsm` the one array there is taken; without `label` the points have no labels.
    """
    try:
        import anndata
    except ImportError as error:
        raise CommandError("reading .h5ad needs the package anndata: pip install 'hypermargin[anndata]'") from error
    try:
        adata = anndata.read_h5ad(path, backed="r")
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{path} is not an AnnData file, or it is damaged") from error
    try:
        basis = _chosen_basis(path, obsm, list(adata.obsm.keys()))
        X = np.asarray(adata.obsm[basis])
        ids = [str(name) for name in adata.obs_names]
        y = None if label is None else _labels(path, adata.obs, label.removeprefix(PREFIX))
    finally:
        adata.file.close()
    if X.ndim != 2 or X.dtype.kind not in "iuf":
        raise CommandError(f"{path}: obsm {basis!r} is no table of numbers")
    bad = np.argwhere(~np.isfinite(X))
    if bad.size:
        raise CommandError(f"{path}: cell {ids[bad[0][0]]!r} has {X[tuple(bad[0])]} in obsm {basis!r}")
    return Points(X.astype(np.float64), y, ids=ids, id_name="cell", path=path, place=lambda row: f"cell {ids[row]!r}")


def _chosen_basis(path: str, obsm: str | None, keys: list[str]) -> str:
    if obsm is None:
        if len(keys) != 1:
            raise CommandError(
                f"{path}: say with --obsm which coordinates to take: {', '.join(keys) or 'it has none in obsm'}"
            )
        return keys[0]
    if obsm not in keys:
        raise CommandError(f"{path} has no obsm {obsm!r}; it has {', '.join(keys) or 'none'}")
    return obsm


def _labels(path: str, obs: Any, name: str) -> np.ndarray:
    if name not in obs.columns:
        raise CommandError(f"{path} has no column {name!r} in obs; it has {', '.join(map(str, obs.columns)) or 'none'}")
    column = obs[name]
    return as_labels(["" if gone else str(value) for value, gone in zip(column, column.isna(), strict=True)])
