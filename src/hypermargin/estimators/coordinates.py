"""`CoordinateTransformer`: other coordinates of the same points, as a step of a pipeline."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array
from hypermargin.estimators.base import HyperbolicEstimator, keyword_only, one_of
from hypermargin.geometry.isometries import move_from_origin, move_to_origin
from hypermargin.geometry.mean import frechet_mean
from hypermargin.geometry.models import from_lorentz, to_lorentz
from hypermargin.geometry.validation import check_geometry


@keyword_only
@dataclass(eq=False, repr=False)
class CoordinateTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, HyperbolicEstimator):
    """Writes points in other coordinates, perhaps seen from their mean.

    ``CoordinateTransformer(to="tangent", origin="mean")`` before a classifier of scikit-learn gives it vectors whose
    lengths are the distances to the mean of the training points.

    Parameters
    ----------
    geometry : str, default="lorentz"
        What the columns of X are, as in `HyperbolicSVC`.
    to : str, default="poincare"
        What the columns of the result are.
    origin : {"given", "mean"}, default="given"
        "mean" moves all points by the isometry that takes the Fréchet mean of the training points to the origin.
    curvature : float, default=1.0
        The points lie in the space of curvature ``-curvature``.
    rim : {"clip", "drop", "error"}, default="clip"
        As in `HyperbolicSVC`; no point is dropped here.

    Attributes
    ----------
    centre_ : (d + 1,) array
        What becomes the origin, on the unit hyperboloid; only with ``origin="mean"``.

    Examples
    --------
    >>> from hypermargin.estimators import CoordinateTransformer
    >>> change = CoordinateTransformer(geometry="poincare", to="klein")
    >>> change.fit_transform([[0.5, 0.0], [0.0, -0.5]]).round(3)
    array([[ 0.8,  0. ],
           [ 0. , -0.8]])
    >>> change.get_feature_names_out()
    array(['coordinatetransformer0', 'coordinatetransformer1'], dtype=object)
    """

    geometry: str = "lorentz"
    to: str = "poincare"
    origin: str = "given"
    curvature: float = 1.0
    rim: str = "clip"

    RULES: ClassVar = {**HyperbolicEstimator.RULES, "origin": one_of(("given", "mean"))}

    def fit(self, X, y=None) -> Self:
        """Check the points X, shape (n, width), and find their mean if it is wanted."""
        self._check_space()
        check_geometry(self.to)
        points = self._points(X, reset=True)
        if self.origin == "mean":
            self.centre_ = frechet_mean(points)
        self._n_features_out = from_lorentz(points[:1], self.to, self.curvature).shape[1]
        return self

    def transform(self, X) -> Array:
        """The points in the coordinates `to`, shape (n, new width)."""
        check_is_fitted(self, "_n_features_out")
        points = self._points(X)
        return from_lorentz(self._moved(points, move_to_origin), self.to, self.curvature)

    def inverse_transform(self, X) -> Array:
        """From the coordinates `to` back to those of the fit, shape (n, width)."""
        check_is_fitted(self, "_n_features_out")
        points = to_lorentz(np.asarray(X, dtype=np.float64), self.to, self.curvature)
        return from_lorentz(self._moved(points, move_from_origin), self.geometry, self.curvature, self.n_features_in_)

    def _moved(self, points: Array, move) -> Array:
        return move(points, self.centre_) if self.origin == "mean" else points
