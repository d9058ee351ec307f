"""What a table of coordinates is: `inspect` lists the dialects that fit and whatever may be wrong with the points."""

import html
import json
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.data.ingest import manifold_curvature, missing_labels, plain_coordinates, to_unit
from hypermargin.geometry.lorentz import radius
from hypermargin.geometry.metric import pairwise_distance
from hypermargin.geometry.validation import MAX_RADIUS, POSSIBLE, Dialect, PointError, clip_of, dialects, scaling_of

#: Shares of the points within the radii that are shown.
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
#: Points from which the hyperbolicity is computed: all triples of 100 take 10 ms, and vary by a few per cent.
SAMPLE = 100
#: Rows and classes that are listed.
LISTED = 8


class GeometryWarning(UserWarning):
    """What ``geometry="auto"`` has taken the coordinates for."""


@dataclass(frozen=True)
class Inspection:
    """What `inspect` has found; ``print`` shows it as text, a notebook as a table.

    Attributes
    ----------
    name, n_rows, width
        What was looked at.
    fits : list of Dialect
        All coordinates that the finite rows could be, the surest first: geometry, curvature, how sure, and the sign.
    scaling : str
        A sentence about columns that a scaler has changed; empty where none has.
    radii : dict
        Hyperbolic radii by the share of the points within, for the first dialect, on the unit hyperboloid.
    at_rim : list of int
        Rows on the rim or beyond radius 18, which hyperplanes see drawn in.
    clip_norm, on_clip
        The largest norm, and how many rows lie at it where those are several.
    not_finite, n_duplicates
        Rows that hold NaN or infinity, and the number of rows that repeat an earlier one.
    labels : dict
        Rows of each label; None counts those without one.
    delta, delta_relative : float
        Gromov's hyperbolicity of a sample, and twice that over its diameter: 0 for a tree, 1 for a flat space at most.
    code, command : str
        What to write to fit a model.
    """

    name: str
    n_rows: int
    width: int
    fits: list[Dialect]
    scaling: str
    radii: dict[str, float]
    at_rim: list[int]
    clip_norm: float
    on_clip: int
    not_finite: list[int]
    n_duplicates: int
    labels: dict[Any, int]
    delta: float
    delta_relative: float
    code: str
    command: str

    def lines(self) -> list[tuple[str, str]]:
        """What was found as pairs of a heading and a sentence."""
        fits = [f"{one.geometry}, curvature {one.curvature:g} ({one.sure}): {one.sign}" for one in self.fits]
        classes = [f"{name} ({count})" for name, count in self.labels.items()]
        found = [("table", f"{self.n_rows} rows of {self.width} numbers")]
        found += [("these look like" if k == 0 else "or", text) for k, text in enumerate(fits)]
        found += [("scaled", self.scaling)] if self.scaling else []
        found += [("radii", ", ".join(f"{share} {value:.4g}" for share, value in self.radii.items()))]
        if self.at_rim:
            found += [("at the rim", f"{len(self.at_rim)} rows beyond radius 18: {_listed(self.at_rim)} (see rim)")]
        if self.on_clip:
            found += [("on a clip", f"{self.on_clip} rows at the largest norm, {self.clip_norm:.9g}")]
        if self.not_finite:
            found += [("not finite", f"{len(self.not_finite)} rows: {_listed(self.not_finite)}")]
        if self.n_duplicates:
            found += [("duplicates", f"{self.n_duplicates} rows repeat an earlier one")]
        if classes:
            found += [("labels", f"{len(classes)}: {_listed(classes)}")]
        tree = f"delta {self.delta:.3g}, {self.delta_relative:.2f} of half the diameter (0 for a tree)"
        return [*found, ("hyperbolicity", tree), ("in Python", self.code), ("command", self.command)]

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"  {heading:16}{text}" for heading, text in self.lines())])

    def to_json(self) -> str:
        """Everything that was found as JSON text."""
        plain = asdict(self) | {
            "fits": [one._asdict() for one in self.fits],
            "labels": {str(name): count for name, count in self.labels.items()},
        }
        return json.dumps(plain, indent=1, default=str)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(h)}</th><td>{html.escape(text)}</td></tr>" for h, text in self.lines())
        return f"<table style='text-align:left'><caption>{html.escape(self.name)}</caption>{rows}</table>"

    def save(self, path: str | Path) -> Path:
        """Write a page (.html), JSON (.json) or text, by the ending of the name; returns the path."""
        target = Path(path)
        page = f"<!doctype html><meta charset='utf-8'><title>{html.escape(self.name)}</title>{self._repr_html_()}"
        text = {".html": page, ".json": self.to_json()}.get(target.suffix.lower(), f"{self}\n")
        target.write_text(text, encoding="utf-8")
        return target


def inspect(X: Any, y: Any = None, *, name: str = "X") -> Inspection:
    """What coordinates X are, and what is worth knowing of them before a fit.

    Parameters
    ----------
    X : (n, width) array, data frame or tensor
        Rows that hold NaN or infinity are listed and left out of the rest.
    y : (n,) array, optional
        Labels, which are counted.
    name : str
        What the report, and the command in it, call the data.

    Returns
    -------
    Inspection

    Examples
    --------
    >>> import hypermargin as hm
    >>> X, _ = hm.datasets.make_tree(50, random_state=0, return_X_y=True)
    >>> found = hm.inspect(X)
    >>> found.fits[0].geometry, found.fits[0].sure
    ('lorentz', 'certain')
    >>> found.code
    "HyperbolicClassifierCV(geometry='lorentz', curvature=1).fit(X, y)"
    """
    curvature = None
    if hasattr(X, "manifold"):
        own = "lorentz" if "Lorentz" in type(X.manifold).__name__ else "poincare"
        curvature = manifold_curvature(X, own)
    X = np.asarray(plain_coordinates(X.to_numpy() if hasattr(X, "to_numpy") else X, "", 1.0), dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise ValueError(f"X must be a table of numbers with at least one row, got shape {X.shape}")
    finite = np.isfinite(X).all(axis=1)
    if not finite.any():
        raise ValueError("every row of X holds NaN or infinity")
    rows = np.flatnonzero(finite)
    fits = dialects(X[rows])
    if curvature is not None:
        fits = [Dialect(own, curvature, "certain", f"the tensor lies on a {type(X).__name__}"), *fits]
    clip = clip_of(X[rows])
    geometry, c = fits[0].geometry, fits[0].curvature
    space_parts = {"lorentz": X[rows, 1:], "lorentz-last": X[rows, :-1]}.get(geometry)  # time may be rounded
    known = (X[rows], geometry) if space_parts is None else (space_parts, "hyperboloid")
    points, at_rim = to_unit(*known, c, largest=np.inf)
    radii = radius(points)
    at_rim = np.union1d(at_rim, np.flatnonzero(radii > MAX_RADIUS))
    missing = np.zeros(0, dtype=bool) if y is None else missing_labels(y)
    named = [None if gone else label for label, gone in zip([] if y is None else y, missing, strict=True)]
    sample = points[np.unique(np.linspace(0, len(points) - 1, SAMPLE).astype(np.intp))]
    delta, diameter = hyperbolicity(sample)
    return Inspection(
        name=name,
        n_rows=len(X),
        width=X.shape[1],
        fits=fits,
        scaling=scaling_of(X[rows]),
        radii={f"{share:.0%}": float(value) for share, value in zip(SHARES, np.quantile(radii, SHARES), strict=True)},
        at_rim=rows[at_rim].tolist(),
        clip_norm=clip.norm,
        on_clip=clip.n_rows,
        not_finite=np.flatnonzero(~finite).tolist(),
        n_duplicates=len(rows) - len(np.unique(X[rows], axis=0)),
        labels=dict(Counter(named).most_common()),
        delta=delta,
        delta_relative=2.0 * delta / diameter if diameter else 0.0,
        code=f"HyperbolicClassifierCV(geometry={geometry!r}, curvature={c:g}).fit(X, y)",
        command=f"hypermargin fit {name} --model auto --geometry {geometry} --curvature {c:g} --output model.npz",
    )


def hyperbolicity(points: Array) -> tuple[float, float]:
    """Gromov's delta of Lorentz points, shape (n, d + 1), by products at the first of them, and their diameter.

    With ``(x|y) = (d(x, o) + d(y, o) - d(x, y))/2`` it is the largest ``min((x|z), (z|y)) - (x|y)``; that at any other
    point o is at most twice as large.
    """
    D = pairwise_distance(points)
    products = 0.5 * (D[0][:, None] + D[0][None, :] - D)
    delta = max(float(np.max(np.minimum(products[:, z, None], products[z]) - products)) for z in range(len(D)))
    return max(delta, 0.0), float(D.max())


def chosen_dialect(X: Any) -> Dialect:
    """What ``geometry="auto"`` takes coordinates for, with a `GeometryWarning` that says so.

    Nothing that merely is possible is taken: any numbers are tangent vectors and space components.
    """
    found = inspect(X)
    best = found.fits[0]
    if found.scaling or best.sure == POSSIBLE:
        others = ", ".join(repr(one.geometry) for one in found.fits)
        raise PointError(
            None, f"fits no geometry for sure: {found.scaling or f'it could be {others}'}; say which with geometry=..."
        )
    warnings.warn(
        f"geometry='auto' took X for {best.geometry} coordinates of curvature -{best.curvature:g} ({best.sure}): "
        f"{best.sign}",
        GeometryWarning,
        stacklevel=6,
    )
    return best


def _listed(values: list[Any]) -> str:
    more = f" and {len(values) - LISTED} more" if len(values) > LISTED else ""
    return ", ".join(map(str, values[:LISTED])) + more
