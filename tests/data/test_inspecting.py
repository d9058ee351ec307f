"""What coordinates are: dialects planted by conversion are found, and what is wrong with rows is counted."""

import json
import warnings

import numpy as np
import pytest

import hypermargin as hm
from hypermargin.data.inspecting import GeometryWarning, hyperbolicity
from hypermargin.data.readers import ArrayChunks
from hypermargin.geometry import from_lorentz
from hypermargin.geometry.lorentz import lift


@pytest.fixture(scope="module")
def tree():
    return hm.datasets.make_tree(150, random_state=0, return_X_y=True)


@pytest.mark.parametrize("curvature", [1.0, 0.7])
@pytest.mark.parametrize(
    ("geometry", "sure"),
    [("lorentz", "certain"), ("lorentz-last", "certain"), ("polar", "likely"), ("poincare", "likely")],
)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_dialect_is_found(tree, geometry, curvature, sure, kind):
    X = from_lorentz(tree[0], geometry, curvature).astype(kind)
    if geometry == "poincare" and curvature != 1.0:  # as trained: some rows on the clip of geoopt
        edge = np.float64((1.0 - 1e-5) / np.sqrt(curvature))
        X[5:15] *= (edge / np.linalg.norm(X[5:15].astype(float), axis=1))[:, None].astype(kind)
    best = hm.inspect(X).fits[0]
    assert (best.geometry, best.sure) == (geometry, sure)
    if geometry != "polar":  # any radius is one in every space
        assert best.curvature == pytest.approx(curvature, rel=1e-5)


def test_all_that_fit_are_listed(tree):
    found = [(one.geometry, one.sure) for one in hm.inspect(from_lorentz(tree[0], "klein")).fits]
    assert found[:2] == [("poincare", "likely"), ("klein", "possible")]
    assert {"tangent", "hyperboloid"} <= {name for name, _ in found}
    for geometry in ("halfspace", "tangent", "hyperboloid"):
        assert geometry in [one.geometry for one in hm.inspect(from_lorentz(tree[0], geometry)).fits]


def test_rows_are_counted(tree):
    X, y = from_lorentz(tree[0], "poincare"), tree[1].astype(object)
    X[3], X[8, 0] = np.nan, np.inf
    X[20] = X[21]
    X[30], X[31] = [0.0, 1.0], [1.0 - 1e-16, 0.0]
    y[40] = None
    found = hm.inspect(X, y)
    assert (found.n_rows, found.width, found.not_finite) == (150, 2, [3, 8])
    assert (found.at_rim, found.n_duplicates) == ([30, 31], 1)
    assert found.labels == {0: int(np.sum(y == 0)), 1: int(np.sum(y == 1)), None: 1}
    radii = np.delete(np.arccosh(tree[0][:, 0]), [3, 8, 20, 30, 31])
    assert found.radii["50%"] == pytest.approx(np.median(radii), rel=0.05)


def test_the_report_is_text_json_and_a_page(tree, tmp_path):
    found = hm.inspect(*tree, name="<points>.csv")
    assert "these look like lorentz, curvature 1 (certain)" in str(found)
    assert json.loads(found.save(tmp_path / "r.json").read_text())["fits"][0]["geometry"] == "lorentz"
    page = found.save(tmp_path / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "&lt;points&gt;.csv" in page
    model = eval(found.code, {"HyperbolicClassifierCV": hm.HyperbolicSVC, "X": tree[0], "y": tree[1]})
    assert model.geometry == "lorentz"


def test_hyperbolicity_is_that_of_the_four_points():
    """Points on a geodesic are a tree; the definition by all triples decides on others."""
    line = lift(np.sinh(np.linspace(-3.0, 3.0, 9))[:, None] * np.array([[0.6, 0.8]]))
    assert hyperbolicity(line)[0] == pytest.approx(0.0, abs=1e-12)
    X = lift(np.random.default_rng(0).normal(size=(12, 2)))
    D = np.arccosh(np.maximum(X[:, :1] * X[:, 0] - X[:, 1:] @ X[:, 1:].T, 1.0))
    product = [[0.5 * (D[0, i] + D[0, j] - D[i, j]) for j in range(12)] for i in range(12)]
    triples = [(i, j, k) for i in range(12) for j in range(12) for k in range(12)]
    expected = max(min(product[i][k], product[k][j]) - product[i][j] for i, j, k in triples)
    assert hyperbolicity(X) == (pytest.approx(expected, abs=1e-7), pytest.approx(D.max()))


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("curvature", [1.0, 0.7])
def test_auto_takes_what_is_found_and_says_so(tree, blocked, curvature):
    X, y = from_lorentz(tree[0], "lorentz-last", curvature), tree[1]
    given = ArrayChunks(X, rows=40) if blocked else X
    with pytest.warns(
        GeometryWarning, match=rf"took X for lorentz-last coordinates of curvature -{curvature:g} \(certain\)"
    ):
        model = hm.HyperbolicSVC(geometry="auto").fit(given, y)
    expected = hm.HyperbolicSVC(geometry="lorentz-last", curvature=curvature).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"fits no geometry for sure: it could be .*'tangent'.*; say which"):
        hm.HyperbolicSVC(geometry="auto").fit(from_lorentz(tree[0], "tangent"), y)


@pytest.mark.parametrize("claimed", ["lorentz", "poincare"])
def test_a_failed_fit_says_what_inspect_says(tree, claimed):
    X, y = tree
    clipped = from_lorentz(X, "poincare", 0.7)
    clipped[5:15] *= ((1.0 - 1e-5) / np.sqrt(0.7) / np.linalg.norm(clipped[5:15], axis=1))[:, None]
    with pytest.raises(ValueError, match=r"curvature -0\.7 end: pass geometry='poincare', curvature=0\.7"):
        hm.HyperbolicSVC(geometry=claimed).fit(clipped, y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    with pytest.raises(ValueError, match="every column has mean 0 and deviation 1, as a scaler makes it"):
        hm.HyperbolicSVC(geometry=claimed).fit(scaled, y)
    assert hm.inspect(scaled).scaling
    with pytest.raises(ValueError, match=r"or the space components of Lorentz coordinates.* lists all that fits"):
        hm.HyperbolicSVC(geometry=claimed).fit(X[:, 1:] + 2.0, y)


def test_half_precision_over_the_rim_is_a_ball(tree):
    X = from_lorentz(tree[0], "poincare")
    X[:10] /= np.linalg.norm(X[:10], axis=1, keepdims=True) + 1e-12
    X = X.astype(np.float16)
    assert np.any(np.linalg.norm(X.astype(float), axis=1) > 1.0)
    assert hm.inspect(X).fits[0].geometry == "poincare"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert hm.HyperbolicSVC(geometry="poincare").fit(X, tree[1]).score(X, tree[1]) > 0.8
