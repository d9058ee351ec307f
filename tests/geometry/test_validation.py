"""Every kind of bad array has its own sentence, and good arrays come back unchanged."""

import re
import tracemalloc

import numpy as np
import pytest

from hypermargin import arrays
from hypermargin.geometry import (
    GEOMETRIES,
    check_coordinates,
    check_lorentz,
    check_points,
    exp_origin,
    from_lorentz,
    to_lorentz,
    validation,
)


@pytest.fixture
def X(rng):
    return exp_origin(2.0 * rng.standard_normal((30, 2)))


@pytest.mark.parametrize("curvature", [1.0, 0.3, 4.0])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_good_points_come_back_as_they_are(X, geometry, curvature):
    coordinates = from_lorentz(X, geometry, curvature)
    assert np.array_equal(check_points(coordinates, geometry, curvature), coordinates)
    assert check_points(coordinates.tolist(), geometry, curvature).dtype == np.float64


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity(X, geometry, bad):
    coordinates = from_lorentz(X, geometry)
    coordinates[3, 1] = bad
    for check in (check_points, check_coordinates, to_lorentz):
        with pytest.raises(ValueError, match="X contains NaN or infinity"):
            check(coordinates, geometry)


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_shapes(geometry):
    width = r"\(n, d \+ 1\)" if geometry in ("lorentz", "lorentz-last", "polar") else r"\(n, d\)"
    for array in (1.0, [1.0, 0.0], np.ones((2, 2, 2))):
        with pytest.raises(ValueError, match=f"points must be an {width} array"):
            check_points(array, geometry)
    with pytest.raises(ValueError, match="X has 0 rows"):
        check_points(np.empty((0, 2)), geometry)
    with pytest.raises(ValueError, match="need a last axis of length"):
        check_points(np.empty((3, 0)), geometry)


def test_one_column_is_no_lorentz_point():
    with pytest.raises(ValueError, match=r"need a last axis of length d \+ 1 with d >= 1, got shape \(4, 1\)"):
        check_lorentz(np.ones((4, 1)))


@pytest.mark.parametrize("curvature", [1.0, 2.0])
@pytest.mark.parametrize(
    ("true", "claimed", "hint"),
    [
        ("poincare", "lorentz", "these look like Poincaré coordinates: pass geometry='poincare' \\(or 'klein'\\)"),
        ("klein", "lorentz", "these look like Poincaré coordinates: pass geometry='poincare' \\(or 'klein'\\)"),
        ("poincare", "halfspace", "these look like Poincaré coordinates: pass geometry='poincare'"),
        ("halfspace", "lorentz", "pass geometry='halfspace' or 'tangent'"),
        ("halfspace", "poincare", "pass geometry='halfspace' or 'tangent'"),
        ("tangent", "lorentz", "pass geometry='tangent'"),
        ("tangent", "klein", "pass geometry='tangent'"),
        ("tangent", "halfspace", "pass geometry='tangent'"),
        ("hyperboloid", "lorentz", "pass geometry='tangent' or 'hyperboloid'"),
        ("hyperboloid", "poincare", "pass geometry='tangent' or 'hyperboloid'"),
        ("lorentz-last", "poincare", "pass geometry='lorentz-last'"),
        ("lorentz", "poincare", "these look like Lorentz coordinates: pass geometry='lorentz'"),
        ("lorentz", "klein", "these look like Lorentz coordinates: pass geometry='lorentz'"),
        ("lorentz", "halfspace", "these look like Lorentz coordinates: pass geometry='lorentz'"),
    ],
)
def test_another_geometry_is_recognised(X, true, claimed, hint, curvature):
    with pytest.raises(ValueError, match=hint):
        check_points(from_lorentz(X, true, curvature), claimed, curvature)


def test_another_curvature_is_recognised(X):
    with pytest.raises(ValueError, match="Lorentz coordinates of curvature -4: pass curvature=4"):
        check_points(from_lorentz(X, "lorentz", 4.0), "lorentz", 1.0)


def test_time_last_is_recognised(X):
    with pytest.raises(ValueError, match="time coordinate seems to be the last; put it first"):
        check_lorentz(np.roll(X, -1, axis=1))


def test_radius_and_unit_vector_are_recognised(X):
    with pytest.raises(ValueError, match="these look like a radius and a unit vector: pass geometry='polar'"):
        check_points(from_lorentz(X, "polar", 1.0, 3), "poincare")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ([-0.5, 0.6, 0.8], "row 1 of X has the radius -0.5: polar coordinates begin with a radius"),
        ([0.5, 0.6, 0.9], "row 1 of X has a direction of length 1.08167, which must be 1"),
        ([1e140, 0.6, 0.8], "row 1 of X lies too far out for double precision"),
    ],
)
def test_bad_polar_coordinates_are_named(row, complaint):
    with pytest.raises(ValueError, match=complaint):
        check_points([[1.0, 0.0, 1.0], row, [2.0, 1.0, 0.0]], "polar")


def test_the_row_at_fault_is_named(X):
    X[17, 0] += 0.1
    with pytest.raises(
        ValueError, match=r"row 17 of X is not on the hyperboloid x0\^2 - \|xr\|\^2 = 1, x0 > 0 \(x0 = "
    ):
        check_lorentz(X)
    with pytest.raises(ValueError, match=r"\(x0 = .*\)$"):  # no guess at another geometry: the other rows are right
        check_lorentz(X)
    lower = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match="row 1 of X is not on the hyperboloid"):
        check_lorentz(lower)
    with pytest.raises(ValueError, match=r"is not on the hyperboloid x0\^2 - \|xr\|\^2 = 1/curvature = 0\.5"):
        check_points(lower / np.sqrt(2.0), "lorentz", 2.0)


def test_the_row_at_fault_is_named_in_a_late_block(X, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 4)
    assert check_lorentz(X) is X
    far = X.copy()
    far[5], far[23] = exp_origin([[18.1, 0.0], [0.0, -18.3]])
    with pytest.raises(ValueError, match=r"^row 23 of X lies at hyperbolic radius 18\.3; beyond 18"):  # the farthest
        check_lorentz(far)
    X[[17, 29], 0] += 0.1
    with pytest.raises(
        ValueError, match=r"^row 17 of X is not on the hyperboloid .* \(x0 = [^)]*\) \(2 of 30 rows are outside\)$"
    ):
        check_lorentz(X)
    X[28, 2] = np.nan
    with pytest.raises(ValueError, match=r"^X contains NaN or infinity$"):
        check_lorentz(X)


def test_whether_rows_or_the_geometry_are_wrong_is_judged_over_all_blocks(X, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 4)
    X[:4, 0] += 0.1  # all of the first block, but few of all rows
    with pytest.raises(
        ValueError, match=r"^row 0 of X is not on the hyperboloid .* \(x0 = [^)]*\) \(4 of 30 rows are outside\)$"
    ):
        check_lorentz(X)
    with pytest.raises(
        ValueError, match=r"^row 0 of X .*: the time coordinate seems to be the last; put it first, or pass"
    ):
        check_lorentz(np.roll(exp_origin(np.ones((30, 2))), -1, axis=1))


def test_checks_need_little_memory_beside_the_data():
    X = exp_origin(np.random.default_rng(0).standard_normal((200_000, 2)))
    tracemalloc.start()
    check_lorentz(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes


@pytest.mark.parametrize("geometry", ["poincare", "klein"])
def test_edge_and_outside_of_the_ball(geometry):
    for outside in ([1.0, 0.0], [0.8, 0.7], [-0.6, -0.8]):
        with pytest.raises(ValueError, match="row 1 of X is not inside the unit ball"):
            check_points([[0.0, 0.0], outside], geometry)
    with pytest.raises(ValueError, match="ball of radius 1/sqrt"):
        check_points([[0.6, 0.0]], geometry, 4.0)
    assert np.array_equal(check_points([[1.5, 0.0]], geometry, 0.25), [[1.5, 0.0]])


def test_floor_and_below_of_the_halfspace():
    for height in (0.0, -0.5):
        with pytest.raises(ValueError, match="its last coordinate must be positive"):
            check_points([[0.0, 1.0], [2.0, height]], "halfspace")


@pytest.mark.parametrize("curvature", [1.0, 0.04, 9.0])
@pytest.mark.parametrize("geometry", ["lorentz", "poincare", "halfspace", "tangent"])
def test_radius_beyond_double_precision(geometry, curvature):
    near, far = exp_origin([[17.9, 0.0]]), exp_origin([[0.0, 1.0], [18.2, 0.0]])
    assert check_points(from_lorentz(near, geometry, curvature), geometry, curvature).shape[0] == 1
    with pytest.raises(ValueError, match=r"row 1 of X lies at hyperbolic radius 18\.2; beyond 18 double precision"):
        check_points(from_lorentz(far, geometry, curvature), geometry, curvature)


def test_radius_counts_in_units_of_the_curvature():
    with pytest.raises(ValueError, match=r"hyperbolic radius 20\.0"):
        check_points([[10.0, 0.0]], "tangent", 4.0)
    assert check_points([[10.0, 0.0]], "tangent", 1.0).shape == (1, 2)


@pytest.mark.parametrize(
    ("geometry", "row"),
    [("tangent", [1e4, 0.0]), ("lorentz", [1e160, 1e160]), ("halfspace", [0.0, 1e200]), ("halfspace", [0.0, 1e-200])],
)
def test_what_would_overflow_is_refused_before_it_does(geometry, row):
    with pytest.raises(ValueError, match=r"too far out for double precision|last coordinate must be positive"):
        to_lorentz(row, geometry)


def test_rounded_lorentz_points_pass_and_are_put_back(X):
    """Single precision is within the tolerance; to_lorentz then restores x0 to the last digit of double precision."""
    rough = X.astype(np.float32)
    fixed = to_lorentz(check_points(rough), "lorentz")
    assert np.array_equal(fixed[:, 1:], rough[:, 1:].astype(np.float64))
    assert np.allclose(
        fixed[:, 0] ** 2 - np.sum(fixed[:, 1:] ** 2, axis=1), 1.0, rtol=0, atol=1e-15 * fixed[:, 0].max() ** 2
    )


def test_unknown_geometry():
    with pytest.raises(ValueError, match="unknown geometry 'euclid'"):
        check_points([[0.0]], "euclid")


# -- the first look, which accepts what is clearly a set of points ----------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_first_look_accepts_nothing_that_the_closer_one_refuses(monkeypatch, seed, d):
    rng = np.random.default_rng([seed, d])
    accepted = refused = 0
    for _ in range(60):
        space = rng.normal(size=(5, d))
        space *= np.sinh(rng.uniform(0.0, 18.2, size=(5, 1))) / np.linalg.norm(space, axis=1, keepdims=True)
        rows = np.hstack([np.sqrt(1.0 + (space**2).sum(axis=1, keepdims=True)), space])
        rows[2, 0] *= 1.0 + rng.choice([0.0, 4.99e-7, 5.01e-7, -5.01e-7, 1e-9, 1e-3, -2.0])
        if rng.random() < 0.1:
            rows[rng.integers(5), rng.integers(d + 1)] = rng.choice([np.nan, np.inf, -np.inf, 1e200])
        with monkeypatch.context() as closer:
            closer.setattr(validation.compiled_points, "all_on_hyperboloid", lambda *arguments: False)
            try:
                fine = check_lorentz(rows) is not None
            except ValueError as error:
                fine, message = False, str(error)
        if fine:
            accepted += 1
            assert np.array_equal(check_lorentz(rows), rows)
        else:
            refused += 1
            with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
                check_lorentz(rows)
    assert accepted >= 5
    assert refused >= 5
