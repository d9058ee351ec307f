"""The transformer keeps distances, comes back, has names of columns, and passes scikit-learn's checks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import CoordinateTransformer
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.metric import distance, exp_origin
from hypermargin.geometry.models import from_lorentz, to_lorentz


@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.RadiusWarning")
@parametrize_with_checks([CoordinateTransformer(geometry="tangent"), CoordinateTransformer("tangent", origin="mean")])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("geometry", ["lorentz", "klein", "halfspace", "polar"])
@pytest.mark.parametrize("to", ["poincare", "tangent", "hyperboloid", "polar"])
@pytest.mark.parametrize("origin", ["given", "mean"])
def test_distances_stay_and_the_way_back_ends_where_it_began(geometry, to, origin):
    points, _ = make_gaussian_mixture(20, 2, dim=3, random_state=0, return_X_y=True)
    X = from_lorentz(points, geometry, 0.5)
    change = CoordinateTransformer(geometry, to=to, origin=origin, curvature=0.5)
    there = to_lorentz(change.fit_transform(X), to, 0.5)
    assert_allclose(distance(there[1:], there[:-1]), distance(points[1:], points[:-1]), rtol=1e-6)
    back = to_lorentz(change.inverse_transform(change.transform(X)), geometry, 0.5)
    assert_allclose(back, points, rtol=1e-6, atol=1e-6)


def test_vectors_at_the_mean_do_not_depend_on_the_origin():
    points, y = make_gaussian_mixture(60, 2, random_state=1, return_X_y=True)
    model = make_pipeline(CoordinateTransformer(to="tangent", origin="mean"), LogisticRegression())
    expected = model.fit(points, y).predict_proba(points)
    moved = points @ boost(exp_origin(np.array([1.0, -2.0]))).T
    assert_allclose(model.fit(moved, y).predict_proba(moved), expected, atol=1e-4)
    table = model[0].set_output(transform="pandas").transform(points)
    assert_array_equal(table.columns, model[0].get_feature_names_out())
