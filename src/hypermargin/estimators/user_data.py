"""What people pass for X and y, made plain: tensors, half precision, missing labels, what belongs elsewhere."""

from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.curvature import curvature_scale
from hypermargin.geometry.lorentz import euclidean_norm

#: Relative rounding of the number formats of half precision, by the name of the dtype.
HALF_PRECISION = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
#: With more classes than this, labels of which nearly all are different are taken for names of the samples.
FEW_CLASSES, NEARLY_ALL = 50, 0.9


def require_classes(classes: np.ndarray, n_samples: int) -> None:
    """Refuse one class only, and a label per sample: a column of identifiers instead of one of classes."""
    if classes.size < 2:
        raise ValueError(f"y holds one class only ({classes[0]}); a classifier needs at least two")
    if classes.size > max(FEW_CLASSES, NEARLY_ALL * n_samples):
        raise ValueError(
            f"y holds {classes.size} different labels for {n_samples} samples, such as {classes[0]} and {classes[1]}: "
            "these are names of samples, not classes; give the column that says which class a sample is of"
        )


def plain_coordinates(X: Any, geometry: str, curvature: float) -> Any:
    """X as scikit-learn can check it.

    Tensors (PyTorch's, geoopt's) are taken off their device and out of the graph of gradients. Lorentz coordinates in
    half precision get the time coordinate that belongs to the others, if theirs is that up to rounding: in half
    precision no point is on the hyperboloid.
    """
    if type(X).__name__ == "AnnData":
        raise TypeError(
            "X is an AnnData, whose coordinates and labels have names: use hypermargin.anndata.classify(adata, "
            "basis='X_poincare', groupby='cell_type'), or pass adata.obsm['X_poincare'] and adata.obs['cell_type']"
        )
    rounding = HALF_PRECISION.get(str(getattr(X, "dtype", "")).removeprefix("torch."))
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        X = X.detach().cpu()
        X = np.asarray(X.double() if rounding is not None else X)
    if rounding is None or np.ndim(X) != 2:
        return X
    X = np.array(X, dtype=np.float64)
    if geometry == "lorentz" and X.shape[1] >= 2 and np.all(np.isfinite(X)):
        _restore_time(X, curvature, rounding)
    return X


def _restore_time(X: Array, curvature: float, rounding: float) -> None:
    """Give rows whose time coordinate is right up to rounding the one that is right; rounding xr moves it as well."""
    time = np.hypot(euclidean_norm(X[:, 1:]), 1.0 / curvature_scale(curvature))
    near = np.abs(X[:, 0] - time) <= 2.0 * rounding * time
    X[near, 0] = time[near]


def plain_labels(y: Any) -> Any:
    """y with tensors made arrays, or a `ValueError` that names the first row without a label (None, NaN, NA)."""
    if hasattr(y, "detach") and hasattr(y, "cpu"):
        y = y.detach().cpu().numpy()
    if y is None:
        return y
    missing = missing_labels(y)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(
            f"row {row} has no label: y[{row}] is {np.ravel(np.asarray(y, dtype=object))[row]!r} "
            f"({int(missing.sum())} of {missing.size} are missing); leave such rows out of the fit and predict them"
        )
    return y


def missing_labels(y: Any) -> np.ndarray:
    """Which labels are None, NaN or NA; shape (n,)."""
    if hasattr(y, "isna"):  # pandas, whose categories and nullable types have their own ideas of what is missing
        return np.ravel(np.asarray(y.isna(), dtype=bool))
    labels = np.asarray(y)
    if labels.dtype.kind == "f":
        return np.ravel(np.isnan(labels))
    if labels.dtype != object:
        return np.zeros(labels.size, dtype=bool)
    return np.array([_is_missing(label) for label in labels.ravel()], dtype=bool)


def _is_missing(label: Any) -> bool:
    return (
        label is None or type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and label != label)
    )
