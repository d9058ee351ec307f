"""Checks that an array is a set of points of hyperbolic space; errors explain what is wrong and what it looks like.

`check_coordinates` checks that an array of any shape is in the domain of a model; `check_points` and `check_lorentz`
are for data sets: two axes, at least one row, and no point beyond what double precision holds.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hypermargin.arrays import Array, rowwise
from hypermargin.geometry.compiled import points as compiled_points
from hypermargin.geometry.lorentz import curvature_scale, euclidean_norm

#: The coordinates there are; see `models` for what each means.
GEOMETRIES = ("lorentz", "poincare", "klein", "halfspace", "tangent", "hyperboloid", "polar", "lorentz-last")
#: Those with a column more than dimensions; polar coordinates of the plane have an angle, and two columns.
WIDER = ("lorentz", "lorentz-last", "polar")

#: Largest radius at which rows in double precision are points of the hyperboloid and of nothing near it.
MAX_RADIUS = 18.0
#: Largest radius for what needs distances only: ``sinh(345)^2 = 6e298``, and sums of such squares are doubles.
FARTHEST_RADIUS = 345.0
#: A length of space parts that is clearly within.
_CLEARLY_WITHIN = 0.999 * float(np.sinh(MAX_RADIUS))


class PointError(ValueError):
    """A row of X that is no point of the space.

    `row` counts from 0 (None where X is a single point), and `complaint` is the rest of the sentence, so that a
    caller can put the line of a file, for example, in the place of "row 7 of X".
    """

    def __init__(self, row: int | None, complaint: str) -> None:
        super().__init__(row, complaint)
        self.row, self.complaint = row, complaint

    def __str__(self) -> str:
        return f"{'X' if self.row is None else f'row {self.row} of X'} {self.complaint}"


def check_geometry(geometry: str) -> str:
    """Return `geometry`, or raise a `ValueError` that lists the names there are."""
    if geometry not in GEOMETRIES:
        raise ValueError(f"unknown geometry {geometry!r}; the geometries are {', '.join(GEOMETRIES)}")
    return geometry


def dimension_of(width: int, geometry: str) -> int:
    """The dimension of the space in which rows of `width` numbers are coordinates of points."""
    return 2 if (geometry, width) == ("polar", 2) else width - (geometry in WIDER)


def check_coordinates(X: ArrayLike, geometry: str, curvature: float = 1.0, *, atol: float = 1e-6) -> Array:
    """Return X, shape (..., width), as float64 in the domain of the model, or raise `ValueError`.

    Out of domain are: NaN and infinity; Lorentz vectors with ``|c x * x - 1| > atol c x0^2`` or ``x0 <= 0``; the edge
    and the outside of the Poincaré and Klein balls, ``sqrt(c) |p| >= 1``; height 0 and below in the half-space, whose
    point at infinity has no coordinates; polar coordinates with a radius below 0 or ``||u| - 1| > atol``.
    """
    check_geometry(geometry)
    scale = curvature_scale(curvature)
    X = np.asarray(X, dtype=np.float64)
    least = 2 if geometry in WIDER else 1
    if X.ndim == 0 or X.shape[-1] < least:
        width = "d + 1 with d >= 1" if least == 2 else "d >= 1"
        raise ValueError(f"{geometry} coordinates need a last axis of length {width}, got shape {X.shape}")
    largest = np.maximum(np.max(X, initial=0.0), -np.min(X, initial=0.0))  # |X| itself would be as large as X
    if not np.isfinite(largest):
        raise ValueError("X contains NaN or infinity")
    if largest > _HUGE / max(scale, 1.0):
        raise ValueError(f"X has entries up to {largest:.3g}, too far out for double precision")
    rows = X.reshape(-1, X.shape[-1])
    outside = rowwise(_outside, rows, geometry, scale, atol)
    if np.any(outside):
        row = int(np.argmax(outside))
        # Where most rows are on the hyperboloid, the geometry is right and single rows are damaged.
        damaged = geometry in WIDER and np.mean(outside) < 0.5
        hint = "" if damaged else _hint(rows, geometry, scale, atol)
        count = int(np.sum(outside))
        others = f" ({count} of {len(rows)} rows are outside)" if 1 < count < len(rows) else ""
        raise PointError(row if X.ndim > 1 else None, f"{_complaint(rows[row], geometry, scale)}{others}{hint}")
    return X


def check_points(
    X: ArrayLike, geometry: str = "lorentz", curvature: float = 1.0, *, atol: float = 1e-6, largest: float = MAX_RADIUS
) -> Array:
    """Return the data set X, shape (n, d) or (n, d + 1) for "lorentz", as float64 coordinates, or raise `ValueError`.

    Beyond `check_coordinates` it wants two axes, at least one row, and every radius (on the unit hyperboloid) at most
    `largest`.
    """
    check_geometry(geometry)
    X = np.ascontiguousarray(X, dtype=np.float64) if np.ndim(X) else np.asarray(X)
    if X.ndim != 2:
        width = "d + 1" if geometry in WIDER else "d"
        raise ValueError(f"points must be an (n, {width}) array with d >= 1, got shape {X.shape}")
    if X.shape[0] == 0:
        raise ValueError("there are no points: X has 0 rows")
    unit = geometry == "lorentz" and curvature == 1.0 and X.shape[1] > 1
    if unit and compiled_points.all_on_hyperboloid(X, 0.999 * atol, _CLEARLY_WITHIN):  # as nearly always
        return X
    X = check_coordinates(X, geometry, curvature, atol=atol)
    if largest == np.inf:
        return X
    radii = rowwise(_radius, X, geometry, curvature_scale(curvature))
    worst = int(np.argmax(radii))
    if radii[worst] > largest:
        klein = " If these are Klein coordinates, pass geometry='klein'." if geometry == "poincare" else ""
        raise PointError(
            worst,
            f"lies at hyperbolic radius {radii[worst]:.1f}; beyond {largest:.0f} double precision cannot tell the "
            f"hyperboloid from the light cone. Move the data towards the origin or use a smaller curvature.{klein}",
        )
    return X


def check_lorentz(X: ArrayLike, *, atol: float = 1e-6) -> Array:
    """Return `X`, shape (n, d + 1), as float64 points of the hyperboloid of curvature -1, or raise `ValueError`.

    The residual ``|x * x - 1| / x0^2`` must be below `atol`: relative to ``x0^2`` because rounding the coordinates of a
    far point moves ``x * x`` by that much.
    """
    return check_points(X, "lorentz", atol=atol)


# -- domains -----------------------------------------------------------------------------------------------------------

#: Beyond this size squares of coordinates leave the range of double precision.
_HUGE = 1e150


def _outside(X: Array, geometry: str, scale: float, atol: float = 1e-6) -> NDArray[np.bool_]:
    """Which rows are outside the domain of the model; shape (n,)."""
    if geometry == "lorentz-last":
        return _outside(np.roll(X, 1, axis=1), "lorentz", scale, atol)
    if geometry == "lorentz":
        time, space = scale * X[:, 0], scale * euclidean_norm(X[:, 1:])
        residual = np.abs((time - space) * (time + space) - 1.0)
        return (time <= 0.0) | (residual > atol * np.maximum(time**2, 1.0))
    if geometry == "polar":
        lengths = euclidean_norm(X[:, 1:]) if X.shape[1] > 2 else np.ones(len(X))
        return (X[:, 0] < 0.0) | (scale * X[:, 0] > np.arcsinh(_HUGE)) | (np.abs(lengths - 1.0) > atol)
    norm = euclidean_norm(X)
    if geometry in ("poincare", "klein"):
        return scale * norm >= 1.0
    if geometry == "halfspace":
        return (X[:, -1] <= 1.0 / _HUGE) | (norm > _HUGE * np.minimum(X[:, -1], 1.0))
    if geometry == "hyperboloid":
        return scale * norm > _HUGE
    return scale * norm > np.arcsinh(_HUGE)


def _radius(X: Array, geometry: str, scale: float) -> Array:
    """Distance to the origin on the unit hyperboloid of points that are in the domain; shape (n,)."""
    if geometry in ("lorentz", "lorentz-last", "hyperboloid"):
        space = {"lorentz": X[:, 1:], "lorentz-last": X[:, :-1]}.get(geometry, X)
        return np.arcsinh(scale * euclidean_norm(space))
    if geometry == "polar":
        return scale * X[:, 0]
    if geometry == "halfspace":
        offset = np.hypot(euclidean_norm(X[:, :-1]), X[:, -1] - 1.0)
        return 2.0 * np.arcsinh(0.5 * offset / np.sqrt(X[:, -1]))
    norm = scale * euclidean_norm(X)
    if geometry == "poincare":
        return 2.0 * np.arctanh(norm)
    return np.arctanh(norm) if geometry == "klein" else norm


# -- sentences ---------------------------------------------------------------------------------------------------------


def _complaint(row: Array, geometry: str, scale: float) -> str:
    """What is wrong with one row that is outside the domain."""
    if geometry in ("tangent", "hyperboloid") or (geometry == "halfspace" and row[-1] > 0.0):
        return "lies too far out for double precision"
    if geometry == "polar":
        if row[0] < 0.0:
            return f"has the radius {row[0]:.6g}: polar coordinates begin with a radius, which is not negative"
        length = np.linalg.norm(row[1:])
        direction = f"has a direction of length {length:.6g}, which must be 1, in the columns after the radius"
        return "lies too far out for double precision" if row.size == 2 or abs(length - 1.0) <= 1e-6 else direction
    if geometry == "lorentz-last":
        return _complaint(np.roll(row, 1), "lorentz", scale) + " with x0 in the last column"
    if geometry == "lorentz":
        level = "1" if scale == 1.0 else f"1/curvature = {1.0 / scale**2:.6g}"
        return (
            f"is not on the hyperboloid x0^2 - |xr|^2 = {level}, x0 > 0 "
            f"(x0 = {row[0]:.6g}, |xr| = {np.linalg.norm(row[1:]):.6g})"
        )
    if geometry == "halfspace":
        return f"is not in the upper half-space: its last coordinate must be positive, got {row[-1]:.6g}"
    name = "Poincaré" if geometry == "poincare" else "Klein"
    edge = "unit ball" if scale == 1.0 else f"ball of radius 1/sqrt(curvature) = {1.0 / scale:.6g}"
    return f"is not inside the {edge} of the {name} model (norm {np.linalg.norm(row):.17g})"


def _hint(X: Array, geometry: str, scale: float, atol: float) -> str:
    """A guess, as the end of a sentence, at what X holds instead; empty where there is none."""

    def fits(name: str, rows: Array = X, factor: float = scale) -> bool:
        return rows.shape[1] >= 2 and not np.any(_outside(rows, name, factor, atol))

    if X.shape[1] >= 2:
        if geometry != "lorentz" and fits("lorentz"):
            return ": these look like Lorentz coordinates: pass geometry='lorentz'"
        if fits("lorentz-last"):
            return ": the time coordinate seems to be the last; put it first, or pass geometry='lorentz-last'"
        if X.shape[1] > 2 and fits("polar"):
            return ": these look like a radius and a unit vector: pass geometry='polar'"
        found = _curvature_of(X)
        if found is not None and fits("lorentz", factor=float(np.sqrt(found))):
            return f": these look like Lorentz coordinates of curvature -{found:.6g}: pass curvature={found:.6g}"
    scaled, clip = scaling_of(X), clip_of(X)
    if scaled:
        return f": {scaled}"
    if clip.curvature not in (None, 1.0) and not (geometry == "poincare" and clip.curvature == scale**2):
        return (
            f": {clip.n_rows} rows lie at norm {clip.norm:.6g}, where embeddings in a ball of curvature "
            f"-{clip.curvature:g} end: pass geometry='poincare', curvature={clip.curvature:g}"
        )
    if geometry in ("lorentz", "halfspace") and fits("poincare"):
        return ": these look like Poincaré coordinates: pass geometry='poincare' (or 'klein')"
    if geometry != "halfspace" and fits("halfspace"):
        return ": these may be half-space or tangent coordinates: pass geometry='halfspace' or 'tangent'"
    flatter = f", or curvature up to {_flattest(clip.norm):g}" if geometry in ("poincare", "klein") else ""
    return (
        ": these may be tangent vectors at the origin, or the space components of Lorentz coordinates: pass "
        f"geometry='tangent' or 'hyperboloid'{flatter} (hypermargin.inspect(X) lists all that fits)"
    )


def _curvature_of(X: Array) -> float | None:
    """The curvature c for which the rows would lie on ``x * x = 1/c``; None where there is none.

    It is the median of the quarter of the rows nearest to the origin, where rounding moves the product least, with no
    more digits than the rounding of the rows leaves.
    """
    near = X[np.argsort(X[:, 0])[: -(-len(X) // 4)]]
    time, space = near[:, 0], euclidean_norm(near[:, 1:])
    level = float(np.median((time - space) * (time + space)))
    if not (level > 0.0 and np.all(X[:, 0] > 0.0)):
        return None
    allowed = max(1e-12, 8.0 * float(rounding_of(near).max()))
    shortened = (float(f"{1.0 / level:.{digits}g}") for digits in range(1, 18))
    return next((c for c in shortened if abs(c * level - 1.0) <= allowed), 1.0 / level)


# -- what rows could be ------------------------------------------------------------------------------------------------

#: Distances from the edge of the unit ball at which training stops: of gensim and geoopt in doubles, of others in
#: doubles, of geoopt in single precision, and of HypLL and hyperbolic networks.
CLIPS = (1e-5, 1e-3, 4e-3, 1e-15, 1e-7)
CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"


class Dialect(NamedTuple):
    """Coordinates that rows could be: their name and curvature, how sure that is, and the sign it is told by."""

    geometry: str
    curvature: float
    sure: str
    sign: str


class Clip(NamedTuple):
    """The largest norm, how many rows have it (0 for a single one), and the curvature of the ball that ends there."""

    norm: float
    n_rows: int
    curvature: float | None


def rounding_of(X: Array) -> Array:
    """Relative rounding of the shortest number format that holds each row, shape (n,)."""
    with np.errstate(over="ignore"):  # of the shorter formats
        held = [np.all(X.astype(kind) == X, axis=1) for kind in (np.float16, np.float32)]
    return np.select(held, [2.0**-11, 2.0**-24], 2.0**-53)


def clip_of(X: Array) -> Clip:
    """Whether rows lie on the sphere where embeddings in a ball end, and the curvature, of few digits, of that ball."""
    norms = euclidean_norm(X)
    top = float(norms.max(initial=0.0))
    on_top = norms >= top * (1.0 - 8.0 * np.maximum(rounding_of(X), 1e-9))
    count, rounding = int(np.sum(on_top)), max(float(rounding_of(X[on_top]).max(initial=0.0)), 1e-9)
    # In short formats norms agree by chance as well.
    if count < (2 if rounding < 1e-6 else 5) or top == 0.0 or len(np.unique(X[on_top], axis=0)) < 2:
        return Clip(top, 0, None)
    for distance in CLIPS:
        c = ((1.0 - distance) / top) ** 2
        if abs(c - float(f"{c:.2g}")) <= 16.0 * rounding * c:
            return Clip(top, count, float(f"{c:.2g}"))
    return Clip(top, count, None)


def scaling_of(X: Array) -> str:
    """A sentence about columns that a scaler has changed; empty where they do not look so."""
    if len(X) < 3 or X.shape[1] < 2:
        return ""
    if np.all(np.abs(X.mean(axis=0)) < 1e-6) and np.all(np.abs(X.std(axis=0) - 1.0) < 0.5 / len(X) + 1e-6):
        what = "mean 0 and deviation 1"
    elif np.all(X.min(axis=0) == 0.0) and np.all(np.abs(X.max(axis=0) - 1.0) < 1e-12):
        what = "least value 0 and largest 1"
    else:
        return ""
    return f"every column has {what}, as a scaler makes it, which moves points off every model: pass them unscaled"


def _flattest(norm: float) -> float:
    """The curvature c, of two digits, of the smallest ball ``|p| < 1/sqrt(c)`` that holds points of this norm."""
    c = 1.0 / norm**2
    digits = f"{c:.1e}"
    return float(digits) if float(digits) < c else float(f"{c * 0.95:.1e}")


def dialects(X: Array) -> list[Dialect]:
    """All coordinates that the rows of X, shape (n, width), could be, the surest first."""
    atol = max(1e-6, 8.0 * float(rounding_of(X).max(initial=0.0)))
    found = []

    def fits(name: str, curvature: float = 1.0) -> bool:
        return X.shape[1] >= 1 + (name in WIDER) and not np.any(_outside(X, name, float(np.sqrt(curvature)), atol))

    for name, rows in (("lorentz", X), ("lorentz-last", np.roll(X, 1, axis=1))):
        curvature = 1.0 if fits(name) else _curvature_of(rows) if X.shape[1] > 1 else None
        if curvature is not None and fits(name, curvature):
            sign = f"{'the first' if rows is X else 'the last'} column is the time of the others on the hyperboloid"
            found.append(Dialect(name, curvature, CERTAIN, sign))
    if X.shape[1] > 2 and fits("polar"):
        found.append(Dialect("polar", 1.0, CERTAIN, "the columns after the first are a unit vector"))
    clip, norms = clip_of(X), euclidean_norm(X)
    if np.all(norms <= 1.0 + 4.0 * rounding_of(X)):
        found.append(Dialect("poincare", 1.0, LIKELY, f"all norms are below 1 (up to {clip.norm:.9g})"))
        found.append(Dialect("klein", 1.0, POSSIBLE, "no single point tells it from the Poincaré ball"))
    if clip.curvature not in (None, 1.0):
        sign = f"{clip.n_rows} rows lie at norm {clip.norm:.6g}, where embeddings in that ball end"
        found.insert(0, Dialect("poincare", float(clip.curvature or 1.0), LIKELY, sign))
    elif np.any(norms >= 1.0):
        found.append(Dialect("poincare", _flattest(clip.norm), POSSIBLE, "the norms lie in balls of this size or more"))
    if X.shape[1] == 2 and fits("polar") and X[:, 0].max() > 1.0 and np.ptp(X[:, 1]) > np.pi >= np.ptp(X[:, 1]) / 2.0:
        found.append(Dialect("polar", 1.0, LIKELY, "a column that is nowhere negative, and one that spans a circle"))
    if fits("halfspace"):
        found.append(Dialect("halfspace", 1.0, POSSIBLE, "the last column is positive"))
    if norms.max(initial=0.0) <= FARTHEST_RADIUS:
        sign = f"vectors up to length {norms.max(initial=0.0):.4g}, which would be the largest radius"
        found.append(Dialect("tangent", 1.0, POSSIBLE, sign))
    found.append(Dialect("hyperboloid", 1.0, POSSIBLE, "any numbers are space components of Lorentz coordinates"))
    return sorted(found, key=lambda one: (CERTAIN, LIKELY, POSSIBLE).index(one.sure))
