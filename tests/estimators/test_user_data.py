"""What people pass: missing labels, tensors, half precision, rows counted as they were given, Klein for Poincaré."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hypermargin.data.ingest import KleinWarning, RadiusWarning
from hypermargin.estimators import (
    HyperbolicKNeighborsClassifier,
    HyperbolicSVC,
    HyperbolicSVCCV,
    load_model,
    save_model,
)
from hypermargin.geometry.models import from_lorentz
from reference.objective import lift


def classifiers():
    return [HyperbolicSVC(solver="euclidean"), HyperbolicSVCCV([1.0], solver="euclidean")]


@pytest.mark.parametrize("estimator", classifiers(), ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize(
    "labels",
    [
        lambda y: [None if k == 2 else "ab"[v] for k, v in enumerate(y)],
        lambda y: np.where(np.arange(len(y)) == 2, np.nan, y),
        lambda y: pd.Series([np.nan if k == 2 else "ab"[v] for k, v in enumerate(y)]),
        lambda y: pd.Series(y, dtype="Int64").where(np.arange(len(y)) != 2),
        lambda y: pd.Series(pd.Categorical([None if k == 2 else "ab"[v] for k, v in enumerate(y)])),
    ],
    ids=["None", "float", "Series", "Int64", "category"],
)
def test_the_row_without_a_label_is_named(two_blobs, estimator, labels):
    X, y = two_blobs
    with pytest.raises(ValueError, match="row 2 has no label"):
        estimator.fit(X, labels(y))


@pytest.mark.parametrize("estimator", classifiers(), ids=lambda estimator: type(estimator).__name__)
def test_a_bad_point_is_called_by_the_row_it_was_given_in(two_blobs, estimator):
    X, y = two_blobs
    for row in (0, 7, len(X) - 1):
        broken = X.copy()
        broken[row, 0] += 0.5
        with pytest.raises(ValueError, match=f"^row {row} of X is not on the hyperboloid"):
            estimator.fit(broken, y)
    weight = np.ones(len(X))
    weight[:5] = 0.0  # left out of the fit, and still counted
    with pytest.raises(ValueError, match=f"^row {len(X) - 1} of X is not on the hyperboloid"):
        estimator.fit(broken, y, sample_weight=weight)


def test_the_first_of_several_bad_points_is_named(two_blobs):
    X, y = two_blobs
    broken = X.copy()
    broken[[41, 9, 23], 0] += 0.5
    with pytest.raises(ValueError, match=r"^row 9 of X"):
        HyperbolicSVC().fit(broken, y)


def test_tensors_with_gradients_and_of_half_precision(two_blobs):
    torch = pytest.importorskip("torch")
    X, y = two_blobs
    model = HyperbolicSVC(solver="euclidean")
    expected = model.fit(X, y).decision_function(X)
    tensor = torch.tensor(X, requires_grad=True)
    assert_array_equal(model.fit(tensor, torch.tensor(y)).decision_function(tensor), expected)
    for dtype in (torch.float16, torch.bfloat16):
        half = torch.tensor(X, dtype=dtype, requires_grad=True)
        assert np.mean(model.fit(half, y).predict(half) == model.fit(X, y).predict(X)) > 0.95


class OnManifold(np.ndarray):
    """A tensor as geoopt's: an array with a manifold."""

    @classmethod
    def of(cls, X, kind, **numbers):
        tensor = np.asarray(X).view(cls)
        tensor.manifold = type(kind, (), numbers)()
        return tensor


@pytest.mark.parametrize(
    ("kind", "numbers", "geometry"),
    [
        ("PoincareBall", {"c": 0.7, "k": -0.7}, "poincare"),  # geoopt
        ("PoincareBall", {"c": staticmethod(lambda: 0.7)}, "poincare"),  # HypLL
        ("Stereographic", {"k": np.float32(-0.7)}, "poincare"),
        ("Lorentz", {"k": 1.0 / 0.7}, "lorentz"),
    ],
)
def test_the_curvature_of_a_tensor_is_that_of_its_manifold(two_blobs, kind, numbers, geometry, tmp_path):
    X, y = two_blobs
    given = from_lorentz(X, geometry, 0.7)
    tensor = OnManifold.of(given, kind, **numbers)
    expected = HyperbolicSVC(geometry=geometry, curvature=0.7).fit(given, y)
    model = HyperbolicSVC(geometry=geometry).fit(tensor, y)
    assert model.curvature == pytest.approx(0.7, rel=1e-6)
    assert_allclose(model.coef_, expected.coef_, rtol=1e-5)
    assert_allclose(model.certified_radius(given), expected.certified_radius(given), rtol=1e-5)
    for fitted in (
        HyperbolicSVCCV(geometry=geometry, Cs=[1.0], cv=2),
        HyperbolicKNeighborsClassifier(geometry=geometry),
    ):
        assert fitted.fit(tensor, y).curvature == pytest.approx(0.7, rel=1e-6)
    (path,) = HyperbolicSVC(geometry=geometry).fit_path(tensor, y, [1.0])
    assert_allclose(path.decision_function(given), expected.decision_function(given), rtol=1e-5)
    with pytest.raises(ValueError, match=r"X lies in the space of curvature -0\.7, and curvature is 2 here"):
        HyperbolicSVC(geometry=geometry, curvature=2.0).fit(tensor, y)
    with pytest.raises(ValueError, match=f"X lies on a {kind}, .* pass geometry='{geometry}'"):
        HyperbolicSVC(geometry="klein").fit(tensor, y)
    other = HyperbolicSVC(geometry=geometry).fit(from_lorentz(X, geometry), y)
    with pytest.raises(ValueError, match=r"curvature -0\.7, and curvature is 1 here"):
        other.predict(tensor)


def test_a_sphere_is_refused_and_a_number_in_a_tensor_is_a_curvature(two_blobs, tmp_path):
    X, y = two_blobs
    with pytest.raises(ValueError, match=r"X lies on a SphereProjection of curvature 0\.5"):
        HyperbolicSVC(geometry="poincare").fit(OnManifold.of(from_lorentz(X, "poincare"), "SphereProjection", k=0.5), y)
    given = from_lorentz(X, "hyperboloid", 0.7)  # as MERU gives space components and a learned curvature
    model = HyperbolicSVC(geometry="hyperboloid", curvature=np.array(0.7)).fit(given, y)
    save_model(model, tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").curvature == 0.7
    assert_allclose(model.coef_, HyperbolicSVC().fit(X, y).coef_, rtol=1e-6)
    with pytest.raises(ValueError, match=r"curvature must be a positive finite number c .* got '0\.7'"):
        HyperbolicSVC(curvature="0.7").fit(X, y)


@pytest.mark.parametrize("curvature", [1.0, 0.3])
def test_half_precision_on_the_hyperboloid_is_the_point_of_its_space_coordinates(two_blobs, curvature):
    X, y = two_blobs
    half = (X / np.sqrt(curvature)).astype(np.float16)
    space = half[:, 1:].astype(np.float64)
    whole = np.column_stack([np.sqrt(1.0 / curvature + np.sum(space**2, axis=1)), space])
    model = HyperbolicSVC(solver="euclidean", curvature=curvature)
    assert_allclose(model.fit(half, y).coef_, model.fit(whole, y).coef_, rtol=1e-12)
    off = half.copy()
    off[3, 0] *= np.float16(1.02)
    with pytest.raises(ValueError, match="row 3 of X is not on the hyperboloid"):
        model.fit(off, y)


def test_klein_passed_for_poincare_is_told_where_it_can_be(two_blobs):
    X, y = two_blobs
    far = from_lorentz(np.column_stack([np.cosh(7.0), np.sinh(7.0), 0.0]), "klein")  # norm 1 - 1.7e-6
    klein = np.vstack([from_lorentz(X, "klein"), far])
    with pytest.warns(KleinWarning, match=r"1 of 61 points lie nearer .* pass geometry='klein'"):
        HyperbolicSVC(solver="euclidean", geometry="poincare").fit(klein, np.append(y, 1))
    farther = from_lorentz(np.column_stack([np.cosh(10.0), np.sinh(10.0), 0.0]), "klein")
    with pytest.warns(
        RadiusWarning, match=r"radius 18 \(row 60\).* If these are Klein coordinates, pass geometry='klein'"
    ):
        HyperbolicSVC(geometry="poincare").fit(np.vstack([klein[:-1], farther]), np.append(y, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HyperbolicSVC(solver="euclidean", geometry="klein").fit(klein, np.append(y, 1))
        # gensim and geoopt keep this distance from the edge of the ball.
        edge = np.vstack([from_lorentz(X, "poincare"), [[1.0 - 1.001e-5, 0.0]]])
        HyperbolicSVC(solver="euclidean", geometry="poincare").fit(edge, np.append(y, 1))


def test_a_class_of_three_samples(two_blobs):
    """Fitted, predicted, calibrated and cross-validated; scikit-learn says that five folds are more than three."""
    X, y = two_blobs
    angle = np.array([2.0, 2.1, 2.2])
    third = lift(np.sinh(3.0) * np.column_stack([np.cos(angle), np.sin(angle)]))
    X, y = np.vstack([X, third]), np.append(y, [2, 2, 2])
    model = HyperbolicSVC(C=10.0).fit(X, y)
    assert_array_equal(model.predict(third), [2, 2, 2])
    with pytest.warns(UserWarning, match="least populated class in y has only 3 members"):
        search = HyperbolicSVCCV().fit(X, y)
    assert_array_equal(search.predict(third), [2, 2, 2])
