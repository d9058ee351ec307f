"""What users pass as X, y and weights, checked and converted: the rules that hold wherever the data comes from.

An array in memory is one block; files, memory maps, devices and Dask collections have several. Every block goes through
the same functions, and what can only be judged on the whole (classes, class weights, warnings) is judged once for all.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import curvature_scale, euclidean_norm, is_lifted, lift
from hypermargin.geometry.models import unit_points_of
from hypermargin.geometry.validation import FARTHEST_RADIUS, MAX_RADIUS, PointError, check_points, rounding_of
from hypermargin.problems.margin import check_weights

#: Poincaré embeddings are trained inside the ball of this norm at most: gensim and geoopt both stop at 1e-5 from its
#: edge. The Klein coordinates of a point lie farther out than its Poincaré coordinates: mistaken, at twice the radius.
EDGE_OF_TRAINING = 1.0 - 1e-5
#: Relative rounding of the number formats of half precision, by the name of the dtype.
HALF_PRECISION = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
#: What is done with points beyond the largest radius of a model.
RIMS = ("clip", "drop", "error")
#: The largest radii of points in doubles inside the balls: ``2 artanh(1 - 2^-53)`` and ``arcosh(2^26)``.
EDGE_RADIUS = {"poincare": 37.4, "klein": 18.7}
#: Rows that a warning names.
ROWS_NAMED = 5
#: With more classes than this, labels of which nearly all are different are taken for names of the samples.
FEW_CLASSES, NEARLY_ALL = 50, 0.9


class RadiusWarning(UserWarning):
    """Points lie beyond the largest radius of a model, and are drawn in along their rays or left out."""


class KleinWarning(UserWarning):
    """Coordinates passed as those of the Poincaré ball lie so far out that they may be Klein coordinates."""


# -- coordinates -------------------------------------------------------------------------------------------------------


def manifold_curvature(X: Any, geometry: str) -> float | None:
    """c of the curvature -c of the manifold on which a tensor of geoopt or HypLL lies; None if it names none.

    The points ``x * x = k`` of geoopt's ``Lorentz(k)`` have the curvature ``-1/k``; the curvature of HypLL is a module
    that is called. Coordinates of another geometry than the manifold's are a `ValueError`.
    """
    manifold: Any = getattr(X, "manifold", None)
    kind, own = type(manifold).__name__, "lorentz" if "Lorentz" in type(manifold).__name__ else "poincare"
    if hasattr(manifold, "c"):
        found = float(manifold.c() if callable(manifold.c) else manifold.c)
    elif hasattr(manifold, "k"):
        found = 1.0 / float(manifold.k) if own == "lorentz" else -float(manifold.k)
    else:
        return None
    if geometry not in (own, "tangent"):
        raise ValueError(f"X lies on a {kind}, and geometry is {geometry!r}: pass geometry={own!r}")
    if not found > 0.0:
        raise ValueError(
            f"X lies on a {kind} of curvature {-found:g}, which is not negative: it is no hyperbolic space"
        )
    return found


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
    if hasattr(X, "manifold") and hasattr(X, "tensor"):  # HypLL's, which are no tensors themselves
        X = X.tensor
    rounding = HALF_PRECISION.get(str(getattr(X, "dtype", "")).removeprefix("torch."))
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        X = X.detach().cpu()
        X = np.asarray(X.double() if rounding is not None else X)
    if rounding is None or np.ndim(X) != 2:
        return X
    X = np.array(X, dtype=np.float64)
    if geometry in ("lorentz", "lorentz-last") and X.shape[1] >= 2 and np.all(np.isfinite(X)):
        _restore_time(X, 0 if geometry == "lorentz" else -1, curvature, rounding)
    return X


def _restore_time(X: Array, column: int, curvature: float, rounding: float) -> None:
    """Give rows whose time coordinate is right up to rounding the one that is right; rounding xr moves it as well."""
    time = np.hypot(euclidean_norm(np.delete(X, column, axis=1)), 1.0 / curvature_scale(curvature))
    near = np.abs(X[:, column] - time) <= 2.0 * rounding * time
    X[near, column] = time[near]


def block_coordinates(X: Any, geometry: str, curvature: float) -> Array:
    """A block of rows in memory as finite doubles, shape (n, width), by the checks that an array in memory gets."""
    X = plain_coordinates(X.to_numpy() if hasattr(X, "to_numpy") else X, geometry, curvature)
    X = check_array(X, dtype=np.float64, order="C", ensure_all_finite=False, ensure_min_samples=0)
    require_finite(X)
    return X


def require_finite(X: Array) -> None:
    """Name the first row that holds NaN or infinity."""
    if np.isfinite(X.sum()):
        return
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        raise PointError(int(np.argmin(finite)), "holds NaN or infinity")


@contextmanager
def numbered(first: int = 0, kept: np.ndarray | None = None) -> Iterator[None]:
    """Errors about a row inside name it as in the whole: rows are counted from `first`, or are those `kept`."""
    try:
        yield
    except PointError as error:
        if error.row is None:
            raise
        raise PointError(first + error.row if kept is None else int(kept[error.row]), error.complaint) from None


def to_unit(
    X: Array, geometry: str, curvature: float, rim: str = "clip", largest: float = MAX_RADIUS
) -> tuple[Array, np.ndarray]:
    """Points of the unit hyperboloid from coordinates `geometry`, and the rows of those beyond the radius `largest`.

    These are drawn in to it along their rays, or with ``rim="error"`` a `PointError`. Points on the edge of a ball, or
    beyond it by rounding, are at infinity: they are drawn in to the largest radius of points inside where that is less.
    What is farther out is a `PointError` that says what X looks like; tangent vectors and radii may have any length.
    """
    on_edge = np.empty(0, dtype=np.intp)
    if rim == "error":
        X = check_points(X, geometry, curvature, largest=largest)
    else:
        X, on_edge = _within_doubles(X, geometry, curvature_scale(curvature))
        X = check_points(X, geometry, curvature, largest=np.inf)
    if geometry == "lorentz" and curvature == 1.0:  # points are what their space parts say (`MarginProblem`)
        points = X if is_lifted(X) else lift(X[:, 1:])
    else:
        points = unit_points_of(X, geometry, curvature)
    far = np.flatnonzero(points[:, 0] > np.cosh(largest))
    if rim != "error" and far.size + on_edge.size:
        points = points.copy()
        for rows, radius in ((far, largest), (on_edge, min(largest, EDGE_RADIUS.get(geometry, largest)))):
            space = points[rows, 1:]
            points[rows] = lift(space * ((1.0 - 1e-12) * np.sinh(radius) / euclidean_norm(space))[:, None])
        far = np.union1d(far, on_edge)
    return points, far


def unit_points(
    X: Array, geometry: str, curvature: float, rim: str = "clip", largest: float = MAX_RADIUS, stacklevel: int = 3
) -> Array:
    """`to_unit` with a `RadiusWarning` where points were drawn in."""
    points, far = to_unit(X, geometry, curvature, rim, largest)
    warn_of_radius(far, len(X), "clip", largest, stacklevel=stacklevel)
    return points


def _within_doubles(X: Array, geometry: str, scale: float) -> tuple[Array, np.ndarray]:
    """X with tangent vectors and radii no longer than doubles hold, and no row on or outside a ball by rounding alone.

    The rows that are changed come with it. Rounding is that of the shortest number format that holds the row.
    """
    if X.ndim != 2 or not X.size or geometry not in ("tangent", "polar", "poincare", "klein"):
        return X, np.empty(0, dtype=np.intp)
    rows = X[:, :1] if geometry == "polar" else X
    if geometry in ("tangent", "polar"):
        size = np.max(np.abs(rows), axis=1)  # squares of the entries themselves may overflow
        length = scale * size * np.linalg.norm(rows / np.where(size > 0.0, size, 1.0)[:, None], axis=1)
        longest, outside = FARTHEST_RADIUS, length > FARTHEST_RADIUS
    else:
        length = scale * euclidean_norm(X)
        # Nearer than this to the edge rounding decides on which side of it a point is.
        longest, outside = 1.0 - 2.0**-50, length >= 1.0 - 2.0**-51
        some = np.flatnonzero(outside)
        outside[some] = length[some] <= 1.0 + 4.0 * rounding_of(X[some])
    changed = np.flatnonzero(outside)
    if changed.size:
        X = X.copy()
        X[changed, : rows.shape[1]] *= (longest / length[changed])[:, None]
    return X, changed


def warn_of_radius(
    far: np.ndarray, n: int, rim: str = "clip", largest: float = MAX_RADIUS, geometry: str = "", stacklevel: int = 2
) -> None:
    """Name the rows of points beyond the radius `largest`, and say what is done with them."""
    if len(far):
        more = f" and {len(far) - ROWS_NAMED} more" if len(far) > ROWS_NAMED else ""
        done = "left out" if rim == "drop" else "drawn in along their rays"
        rows = f"row{'s' * (len(far) > 1)} {', '.join(map(str, far[:ROWS_NAMED]))}{more}"
        warnings.warn(
            f"{len(far)} of {n} points lie at the rim, beyond hyperbolic radius {largest:.0f} ({rows}), the largest "
            f"at which double precision serves this model; they are {done} (rim={rim!r}; the choices are "
            f"{', '.join(map(repr, RIMS))})"
            + (". If these are Klein coordinates, pass geometry='klein'" if geometry == "poincare" else ""),
            RadiusWarning,
            stacklevel=stacklevel + 1,
        )


class Rim(NamedTuple):
    """Points of the Poincaré ball at a norm that no embedding is trained to, and the largest norm of all."""

    beyond: int = 0
    norm: float = 0.0

    @classmethod
    def of(cls, X: Array, curvature: float) -> "Rim":
        norm = curvature_scale(curvature) * euclidean_norm(X)
        return cls(int(np.sum(norm > EDGE_OF_TRAINING + 1e-12)), float(norm.max(initial=0.0)))

    def warn(self, n: int, stacklevel: int = 2) -> None:
        """Warn of Poincaré coordinates that may be Klein coordinates, which lie that far out from radius 6 on.

        Nothing is said where points lie beyond what double precision holds, of which there is a word of its own.
        """
        if self.beyond and self.norm < np.tanh(MAX_RADIUS / 2.0):
            warnings.warn(
                f"{self.beyond} of {n} points lie nearer to the edge of the Poincaré ball than embeddings are trained "
                f"to (norms up to {self.norm:.9f}): if these are Klein coordinates, pass geometry='klein'",
                KleinWarning,
                stacklevel=stacklevel + 1,
            )


# -- labels ------------------------------------------------------------------------------------------------------------


class MissingLabels(ValueError):
    """Rows without a label: the first of them with what stands there, how many there are, and of how many rows."""

    def __init__(self, row: int, value: str, count: int, n: int) -> None:
        super().__init__(row, value, count, n)
        self.row, self.value, self.count, self.n = row, value, count, n

    def __str__(self) -> str:
        return (
            f"row {self.row} has no label: y[{self.row}] is {self.value} ({self.count} of {self.n} are missing); leave "
            "such rows out of the fit and predict them"
        )


def plain_labels(y: Any) -> Any:
    """y with tensors made arrays, or a `MissingLabels` that names the first row without a label (None, NaN, NA)."""
    if hasattr(y, "detach") and hasattr(y, "cpu"):
        y = y.detach().cpu().numpy()
    if y is None:
        return y
    missing = missing_labels(y)
    if missing.any():
        row = int(np.argmax(missing))
        value = repr(np.ravel(np.asarray(y, dtype=object))[row])
        raise MissingLabels(row, value, int(missing.sum()), missing.size)
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


def block_labels(y: Any) -> np.ndarray:
    """The labels of a block in memory, shape (n,), all there and finite."""
    labels = column_or_1d(np.asarray(plain_labels(y)))
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    return np.array(labels.tolist()) if labels.dtype.kind == "O" else labels


def warn_of_column() -> None:
    """The warning of scikit-learn for labels that are a column."""
    column_or_1d(np.zeros((1, 1)), warn=True)


def require_classes(classes: np.ndarray, n_samples: int) -> None:
    """Refuse what are no classes, one class only, and a label per sample: identifiers instead of classes."""
    with warnings.catch_warnings():  # a label per sample is an error below, and few samples are the user's business
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        check_classification_targets(classes)
    if classes.size < 2:
        raise ValueError(f"y holds one class only ({classes[0]}); a classifier needs at least two")
    if classes.size > max(FEW_CLASSES, NEARLY_ALL * n_samples):
        raise ValueError(
            f"y holds {classes.size} different labels for {n_samples} samples, such as {classes[0]} and {classes[1]}: "
            "these are names of samples, not classes; give the column that says which class a sample is of"
        )


# -- weights -----------------------------------------------------------------------------------------------------------


def class_factors(class_weight: Mapping | str | None, classes: np.ndarray, mass: Array) -> Array | None:
    """The factor of each class, shape (n_classes,), or None where all are 1; `mass` is the weight of each class.

    "balanced" gives every class the same total weight: ``sum of weights / (n_classes * weight of the class)``.
    """
    factor = None
    if isinstance(class_weight, str) and class_weight == "balanced":
        factor = mass.sum() / (classes.size * np.where(mass > 0.0, mass, 1.0))
    elif isinstance(class_weight, Mapping):
        factor = compute_class_weight(dict(class_weight), classes=classes, y=classes)
        if not (np.all(np.isfinite(factor)) and np.all(factor >= 0.0)):
            raise ValueError("class_weight must hold finite numbers that are not negative")
    elif class_weight is not None:
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}")
    left = mass if factor is None else mass * factor
    if not np.all(left > 0.0):
        empty = classes[np.flatnonzero(left <= 0.0)[0]]
        raise ValueError(
            f"the weights leave class {empty} without a sample: give one of its samples a positive weight, or "
            "remove the class from y"
        )
    return factor


# -- an array in memory ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """Samples of positive weight, in coordinates as given, shape (n, width), with labels as indices of `classes`.

    `weight` is None where every weight is 1; `kept` are the rows that are left of the `n_rows` passed, None where all
    are.
    """

    X: Array
    labels: np.ndarray
    classes: np.ndarray
    weight: Array | None
    kept: np.ndarray | None
    n_rows: int


def labelled_samples(
    X: Array, y: np.ndarray, sample_weight: Any, class_weight: Any, dropped: np.ndarray | None = None
) -> LabelledSamples:
    """Encode labels, multiply the weights out and leave samples of weight 0 out; one class only is an error.

    Rows that are `dropped` count as rows of weight 0.
    """
    classes, labels = np.unique(column_or_1d(y), return_inverse=True)
    labels = labels.astype(np.min_scalar_type(classes.size))
    require_classes(classes, labels.size)
    weight = None if sample_weight is None else check_weights(sample_weight, labels.size)
    left = weight
    if dropped is not None and dropped.size:
        left = np.ones(labels.size) if weight is None else weight.copy()
        left[dropped] = 0.0
    factor = class_factors(class_weight, classes, np.bincount(labels, left, classes.size).astype(np.float64))
    if factor is not None:
        weight = factor[labels] if weight is None else weight * factor[labels]
        left = weight if left is None else left * factor[labels]
    if left is None or np.all(left > 0.0):
        return LabelledSamples(X, labels, classes, weight, None, labels.size)
    kept = np.flatnonzero(left > 0.0)
    return LabelledSamples(X[kept], labels[kept], classes, None if weight is None else weight[kept], kept, labels.size)
