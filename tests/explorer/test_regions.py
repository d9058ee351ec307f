"""Regions and boundaries of any classifier, found by asking for labels only."""

import base64

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from hypermargin import HyperbolicSVC, explore
from hypermargin.explorer.plane import best_plane
from hypermargin.explorer.regions import chain, trace_regions
from hypermargin.explorer.shown_model import ShownModel, margins
from hypermargin.geometry import from_lorentz, lift, minkowski_dot, origin, radius, signed_distance


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    return lift(rng.normal(size=(120, 2)) + 1.5 * np.repeat(np.eye(3)[:, :2], 40, axis=0)), y


def inside(points, reach):
    return points[radius(points) < reach]


def test_a_geodesic_is_found_where_it_is(cloud):
    X, _ = cloud
    w = np.array([0.4, 1.0, -0.3])
    regions = trace_regions(lambda x: (minkowski_dot(x, w) > 0.0).astype(int), X, origin(2))
    curve = inside(np.concatenate(regions.curves()), 5.0)
    np.testing.assert_allclose(signed_distance(curve, w), 0.0, atol=2e-4)
    assert max(map(len, regions.lines)) == sum(map(len, regions.lines)), "the line should be one piece"


def test_a_circle_is_found_and_closed(cloud):
    X, _ = cloud
    regions = trace_regions(lambda x: (x[:, 0] < np.cosh(1.1)).astype(int), X, origin(2))
    (line,) = regions.curves()
    np.testing.assert_allclose(radius(line), 1.1, atol=1e-4)
    np.testing.assert_array_equal(line[0], line[-1])
    # The area of the triangles within is that of a disc on the Poincaré disk.
    corners = regions.vertices[regions.triangles[regions.labels == 1]]
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = 0.5 * np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum()
    assert area == pytest.approx(np.pi * np.tanh(0.55) ** 2, rel=2e-3)


@pytest.mark.parametrize(
    "model",
    [HyperbolicSVC(), SVC(kernel="rbf"), KNeighborsClassifier(5)],
    ids=["votes", "kernel", "neighbours"],
)
def test_predictions_differ_across_every_boundary_and_agree_within(cloud, model):
    X, y = cloud
    shown = ShownModel("m", model.fit(X, y), X, "lorentz")
    regions = shown.regions(best_plane(X), X)
    triangles = regions.vertices[regions.triangles]
    middles = triangles.mean(axis=1)
    near = np.linalg.norm(middles, axis=1) < 0.9
    points = lift(2.0 * middles / (1.0 - np.sum(middles**2, axis=1))[:, None])
    agree = shown.predicted(points)[near] == regions.labels[near]
    assert np.mean(agree) > 0.97
    for curve in regions.curves():
        curve = inside(curve, 2.5)
        if len(curve) < 8:
            continue
        p = from_lorentz(curve, "poincare")
        along = p[2:] - p[:-2]
        across = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1, keepdims=True)
        step = 0.004 * (1.0 - np.sum(p[1:-1] ** 2, axis=1, keepdims=True))
        left, right = (shown.predicted(to_points(p[1:-1] + sign * step * across)) for sign in (1, -1))
        assert np.mean(left != right) > 0.7


def to_points(p):
    return lift(2.0 * p / (1.0 - np.sum(p**2, axis=1))[:, None])


def test_level_lines_of_a_kernel_are_where_its_decision_is_one(cloud):
    X, y = cloud
    two = y != "c"
    model = SVC(kernel="rbf").fit(X[two], y[two])
    curves = ShownModel("m", model, X, "lorentz").level_lines(best_plane(X), X)
    decision = model.decision_function(np.concatenate(curves))
    assert len(decision) > 60
    np.testing.assert_allclose(np.abs(decision), 1.0, atol=1e-3)
    assert set(np.sign(decision)) == {-1.0, 1.0}
    assert ShownModel("m", SVC().fit(X, y), X, "lorentz").level_lines(best_plane(X), X) == []


def test_segments_are_chained_and_end_where_three_meet():
    lines = chain([(0, 1), (1, 2), (2, 3), (3, 4), (3, 5), (6, 7), (7, 8), (8, 6)])
    as_sets = sorted(tuple(sorted(map(int, line))) for line in lines)
    assert as_sets == [(0, 1, 2, 3), (3, 4), (3, 5), (6, 6, 7, 8)]


def test_margins_are_those_of_the_own_label():
    two = margins(np.array([0.5, -2.0, 3.0]), np.array([1, 1, 0]))
    np.testing.assert_array_equal(two, [0.5, -2.0, -3.0])
    many = margins(np.array([[1.0, 0.25, -1.0], [0.0, 2.0, 5.0]]), np.array([0, -1]))
    np.testing.assert_array_equal(many, [0.75, np.nan])


def test_a_coefficient_that_is_no_boundary_is_not_believed(cloud):
    X, y = cloud
    two = y != "c"
    linear = SVC(kernel="linear").fit(X[two], y[two])  # has coef_ and intercept_, of a Euclidean product
    assert ShownModel("m", linear, X, "lorentz").boundary(best_plane(X)) is None
    ours = HyperbolicSVC().fit(X[two], y[two])
    w, b = ShownModel("m", ours, X).boundary(best_plane(X))
    np.testing.assert_array_equal(w, ours.coef_[0])
    assert b == 0.0


def test_labels_may_be_numbers_in_the_file_and_words_in_the_model(cloud):
    X, y = cloud
    numbers = np.unique(y, return_inverse=True)[1] + 9  # 9, 10, 11: in another order as words
    answers = [
        explore(HyperbolicSVC().fit(X, fitted), X, given).scene["models"][0]["answers"]["margin"]
        for fitted, given in ((numbers, numbers), (numbers.astype(str), numbers), (numbers, numbers.astype(str)))
    ]
    margin = [np.frombuffer(base64.b64decode(packed["data"]), dtype="<f4") for packed in answers]
    assert np.mean(margin[0] > 0) > 0.6
    np.testing.assert_allclose(margin[2], margin[0], atol=1e-6)
    np.testing.assert_array_equal(margin[1] > 0, margin[0] > 0)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda X, y: explore(SVC().fit(X, y), X, y), "does not say what its coordinates are"),
        (lambda X, y: explore(None, X, y, center="middle"), "center must be"),
        (lambda X, y: explore(None, X[:0], y[:0]), "holds no points"),
        (lambda X, y: explore(None, X, y, ids=["one"]), "there are 120 points and 1 names"),
        (lambda X, y: explore(None, X, y, X_test=X[:3]), "give labels for all points or for none"),
        (lambda X, y: explore(None, X, y, path=5), "a path over C needs a model"),
        (lambda X, y: explore(HyperbolicSVC().fit(X, y), X, y, path=1), "at least 2 values of C"),
        (lambda X, y: explore(HyperbolicSVC().fit(X, y), X, y, path=[0.0, 1.0]), "positive values"),
        (lambda X, y: explore(SVC().fit(X, y), X, y, geometry="lorentz", path=3), "needs a classifier with fit_path"),
    ],
)
def test_mistakes_are_told_in_a_sentence(cloud, call, complaint):
    with pytest.raises(ValueError, match=complaint):
        call(*cloud)
