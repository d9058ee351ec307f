"""A fitted classifier as the page shows it: predictions at the points, regions and boundaries in the plane."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.explorer.encoding import index_dtype, packed, packed_points
from hypermargin.explorer.plane import Plane, polar_around
from hypermargin.explorer.regions import Regions, trace_regions
from hypermargin.geometry.lorentz import curvature_scale, lift, minkowski_dot
from hypermargin.geometry.models import from_lorentz, to_lorentz
from hypermargin.plotting.disk import coordinates_of, in_columns_of

#: Levels of the decision function that are drawn beside the boundary: the margins.
MARGINS = (-1.0, 1.0)
#: Hyperbolic length of the triangles' edges along less important lines, 2.5 times that of boundaries (`SHORT_EDGE`).
ROUGH_EDGE = 0.3
#: Number of class probabilities per point, the largest: as many bars as the page shows.
MOST_PROBABILITIES = 4


class ShownModel:
    """A fitted classifier with its name and the meaning of its coordinates.

    Of `X` only the names of its columns are used: an estimator fitted to a data frame expects a data frame. `geometry`
    and `curvature` are those of X, if the estimator has no such parameters.
    """

    def __init__(
        self, name: str, estimator: Any, X: Any, geometry: str | None = None, curvature: float | None = None
    ) -> None:
        self.geometry, self.curvature = coordinates_of(estimator, geometry, curvature)
        self.name, self.estimator, self._template = name, estimator, X
        self.classes = np.asarray(estimator.classes_)

    def coordinates(self, points: Array) -> Any:
        """Coordinates of the model from unit Lorentz points, as a data frame if `X` was one."""
        width = self._template.shape[1]
        return in_columns_of(self._template, from_lorentz(points, self.geometry, self.curvature, width))

    def predicted(self, points: Array) -> np.ndarray:
        """Indices among `classes` of the labels predicted for unit Lorentz points, shape (n,)."""
        return np.searchsorted(self.classes, np.asarray(self.estimator.predict(self.coordinates(points))))

    # -- in the plane --------------------------------------------------------------------------------------------------

    def regions(self, plane: Plane, shadows: Array, **options: Any) -> Regions:
        """The regions of the classes in the plane, traced around `shadows`, shape (n, 3)."""
        return trace_regions(lambda y: self.predicted(plane.in_space(y)), shadows, lift(plane.mean), **options)

    def level_lines(self, plane: Plane, shadows: Array) -> list[Array]:
        """The margins, level lines of the decision function of two classes in the plane, as Lorentz points.

        Empty for more than two classes, and for estimators without a decision function.
        """
        if len(self.classes) != 2 or not hasattr(self.estimator, "decision_function"):
            return []

        def band(y: Array) -> np.ndarray:
            return np.digitize(self.estimator.decision_function(self.coordinates(plane.in_space(y))), MARGINS)

        return trace_regions(band, shadows, lift(plane.mean), ROUGH_EDGE).curves()

    def boundary(self, plane: Plane) -> tuple[Array, float] | None:
        """Normal and intercept of the boundary in the plane if it is a level set of ``x * w``, else None.

        An estimator's ``coef_`` is used only if its sign is the prediction at points all over the plane.
        """
        coef, intercept = (getattr(self.estimator, name, None) for name in ("coef_", "intercept_"))
        if coef is None or intercept is None or np.shape(coef) != (1, plane.dim + 1) or len(self.classes) != 2:
            return None
        w, b = plane.trace(np.asarray(coef, dtype=np.float64)[0]), float(np.ravel(intercept)[0])
        angles, radii = np.meshgrid(np.linspace(0.0, 6.2, 24), np.linspace(0.05, 4.0, 12))
        some = lift(np.sinh(radii.ravel())[:, None] * np.column_stack([np.cos(angles.ravel()), np.sin(angles.ravel())]))
        score = minkowski_dot(some, w) + b
        clear = np.abs(score) > 1e-9 * (1.0 + np.abs(w).max() * some[:, 0])
        agrees = self.predicted(plane.in_space(some[clear])) == (score[clear] > 0.0)
        return (w, b) if np.all(agrees) and np.any(w) else None

    # -- at the points -------------------------------------------------------------------------------------------------

    def answers(self, plane: Plane, points: Array, shadows: Array, labels: np.ndarray) -> dict[str, Any]:
        """The predictions of unit Lorentz points, shape (n, d + 1), with all that the model can say about them.

        `labels` are indices among `classes`; points whose label is unknown to the model (-1) have no margin.
        """
        X = self.coordinates(points)
        predicted = np.searchsorted(self.classes, np.asarray(self.estimator.predict(X)))
        dtype = index_dtype(len(self.classes))
        found: dict[str, Any] = {"predicted": packed(predicted, dtype)}
        if hasattr(self.estimator, "predict_proba"):
            probability = np.asarray(self.estimator.predict_proba(X))
            kept = min(MOST_PROBABILITIES, len(self.classes))
            order = np.argsort(-probability, axis=1, kind="stable")[:, :kept]
            found["probable"] = packed(order, dtype)
            found["probability"] = packed(
                np.round(65535.0 * np.take_along_axis(probability, order, axis=1)).clip(0, 65535), "uint16"
            )
            found["kept"] = kept
        if hasattr(self.estimator, "decision_function"):
            found["margin"] = packed(margins(np.asarray(self.estimator.decision_function(X)), labels), "float32")
        if hasattr(self.estimator, "certified_radius"):
            # The page has lengths on the unit hyperboloid, and shows them times `lengthUnit`.
            scale = curvature_scale(self.curvature)
            radius = scale * np.asarray(self.estimator.certified_radius(X))
            found["radius"] = packed(radius, "float32")
            if plane.dim > 2:
                found["disc"] = packed(section_radius(radius, plane.height(points)), "float32")
        if hasattr(self.estimator, "nearest_adversarial"):
            found |= self._rivals(X, plane, shadows)
        return found

    def _rivals(self, X: Any, plane: Plane, shadows: Array) -> dict[str, Any]:
        """The nearest point with another prediction: its direction and distance as seen from each point."""
        rivals, far = self.estimator.nearest_adversarial(X)
        rivals, far = np.asarray(rivals, dtype=np.float64), np.asarray(far, dtype=np.float64)
        there = np.flatnonzero(np.isfinite(far))
        angle, seen = np.full(len(far), np.nan), np.full(len(far), np.nan)
        if there.size:
            other = plane.shadow(to_lorentz(rivals[there], self.geometry, self.curvature))
            angle[there], seen[there] = polar_around(shadows[there], other)
        return {
            "rivalAngle": packed(angle, "float32"),
            "rivalSeen": packed(seen, "float32"),
            "rivalDistance": packed(curvature_scale(self.curvature) * far, "float32"),
        }


def section_radius(radius: Array, height: Array) -> Array:
    """Radius of the disc in which the plane intersects balls around points at `height` above it; 0 if it does not.

    The disc is centred at the point's shadow, and ``cosh(radius) = cosh(height) cosh(disc)`` by Pythagoras.
    """
    meets = radius > height
    with np.errstate(over="ignore"):
        ratio = np.where(meets, np.cosh(np.minimum(radius, 700.0)) / np.cosh(height), 1.0)
    return np.where(np.isfinite(radius), np.arccosh(np.maximum(ratio, 1.0)), np.inf)


def margins(decision: Array, labels: np.ndarray) -> Array:
    """The margin of each point's own label, shape (n,): negative if the prediction is another label.

    Two classes: the score times the sign of the label. More: the score of the label minus the best other score.
    """
    known = labels >= 0
    if decision.ndim == 1:
        return np.where(known, np.where(labels == 1, decision, -decision), np.nan)
    rows, own = np.arange(len(labels)), np.maximum(labels, 0)
    others = decision.copy()
    others[rows, own] = -np.inf
    return np.where(known, decision[rows, own] - others.max(axis=1), np.nan)


def packed_curves(curves: Sequence[Array]) -> dict[str, Any]:
    """Lines of Lorentz points as one array, and the index at which each begins."""
    starts = np.cumsum([0, *(len(curve) for curve in curves)])
    together = np.concatenate(curves) if curves else np.empty((0, 3))
    return {"points": packed_points(together), "starts": packed(starts, "uint32")}


def packed_regions(regions: Regions) -> dict[str, Any]:
    """The triangles of the regions, packed for the page."""
    return {
        "vertices": packed_points(to_lorentz(regions.vertices, "poincare")),
        "triangles": packed(regions.triangles, index_dtype(len(regions.vertices))),
        "labels": packed(regions.labels, index_dtype(int(regions.labels.max(initial=0)))),
    }


def named_models(models: Any) -> dict[str, Any]:
    """Estimators by name: a mapping as it is; for one estimator or a list, names are made and numbered."""
    if models is None:
        return {}
    if isinstance(models, Mapping):
        return {str(name): model for name, model in models.items()}
    named: dict[str, Any] = {}
    for model in models if isinstance(models, list | tuple) else [models]:
        name = base = _own_name(model)
        number = 2
        while name in named:
            name, number = f"{base} ({number})", number + 1
        named[name] = model
    return named


def _own_name(model: Any) -> str:
    solver, C = getattr(model, "solver", None), getattr(model, "C", getattr(model, "C_", None))
    parts = [type(model).__name__]
    parts += [solver] if isinstance(solver, str) else []
    parts += [f"C = {C:g}"] if isinstance(C, float | int) else []
    return ", ".join(parts)
