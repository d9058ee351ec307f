"""What is drawn on the disk, compared with the geometry it stands for."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from hypermargin import MarginProblem, solve
from hypermargin.datasets import make_gaussian_mixture, make_tree
from hypermargin.estimators.svc import HyperbolicSVC
from hypermargin.geometry import from_lorentz, signed_distance
from hypermargin.plotting import PoincareDisplay
from hypermargin.plotting.palette import CLASS_COLOURS, UNLABELLED


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def two():
    return make_gaussian_mixture(40, 2, scale=0.5, random_state=1)


@pytest.fixture(scope="module")
def four():
    return make_gaussian_mixture(30, 4, scale=0.4, random_state=2)


def to_hyperboloid(p):
    """Inverse stereographic projection, written here anew."""
    square = np.sum(p**2, axis=-1, keepdims=True)
    return np.concatenate([1.0 + square, 2.0 * p], axis=-1) / (1.0 - square)


def disk_distance(p, q):
    """Poincaré's own formula."""
    gap = np.sum((p - q) ** 2, axis=-1)
    return np.arccosh(1.0 + 2.0 * gap / ((1.0 - np.sum(p**2, axis=-1)) * (1.0 - np.sum(q**2, axis=-1))))


def product(x, w):
    return x[..., 0] * w[0] - x[..., 1:] @ w[1:]


def line_points(line, inside=0.999):
    """The drawn points that are well inside the disk, where the hyperboloid is not too steep to check."""
    points = line.get_xydata()
    return points[np.linalg.norm(points, axis=1) < inside]


# -- boundaries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "w", [[0.3, 1.0, 0.5], [-2.0, 2.5, 1.0], [1e-9, -1.0, 2.0], [0.0, 1.0, -1.0], [30.0, 30.001, 0.1]]
)
def test_arcs_are_the_hyperplane_and_meet_the_edge_at_right_angles(two, w):
    w = np.array(w)
    line = PoincareDisplay.from_solutions({"one": w}, two.X, two.y).lines_["one"]
    x = to_hyperboloid(line_points(line))
    assert len(x) > 100
    np.testing.assert_allclose(product(x, w) / (x[:, 0] * np.linalg.norm(w)), 0.0, atol=1e-12)
    points = line.get_xydata()
    np.testing.assert_allclose(np.linalg.norm(points[[0, -1]], axis=1), 1.0, atol=1e-9)
    # The circle through three drawn points, |p|^2 - 2 c.p + e = 0, cuts the unit circle at right angles where e = 1; as
    # a homogeneous system a |p|^2 - 2 b.p + e = 0 it also covers straight lines (a = e = 0).
    chosen = points[[0, len(points) // 2, -1]]
    system = np.column_stack([np.sum(chosen**2, axis=1), -2.0 * chosen, np.ones(3)])
    a, _, _, e = np.linalg.svd(system)[2][-1]
    assert a == pytest.approx(e, abs=1e-6)


@pytest.mark.parametrize(("w", "intercept"), [([0.3, 1.0, 0.5], 0.7), ([0.3, 1.0, 0.5], -2.0), ([1.5, 0.3, 0.4], -2.5)])
def test_boundaries_with_an_intercept(two, w, intercept):
    w = np.array(w)
    display = PoincareDisplay(two.X, two.y, boundaries={"offset": (w, intercept)}).plot()
    x = to_hyperboloid(line_points(display.lines_["offset"]))
    assert len(x) > 100
    np.testing.assert_allclose((product(x, w) + intercept) / x[:, 0], 0.0, atol=1e-12)


def test_methods_without_a_boundary_are_said_to_have_none(two):
    normals = {"good": [0.1, 1.0, 0.0], "ball": [2.0, 0.3, 0.4], "light": [1.0, 1.0, 0.0], "nothing": [0.0, 0.0, 0.0]}
    display = PoincareDisplay.from_solutions(normals, two.X, two.y)
    assert set(display.lines_) == {"good"}
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == [
        "0",
        "1",
        "good",
        "ball: no boundary,\nw is timelike",
        "light: no boundary,\nw is lightlike",
        "nothing: no boundary,\nw is zero",
    ]


def test_solutions_of_solvers_are_drawn_where_they_are(two):
    problem = MarginProblem(two.X, 2 * two.y - 1)
    solutions = {method: solve(problem, method) for method in ("euclidean", "pgd")}
    display = PoincareDisplay.from_solutions(solutions, two.X, two.y)
    for method, solution in solutions.items():
        x = to_hyperboloid(line_points(display.lines_[method]))
        np.testing.assert_allclose(product(x, solution.w) / (x[:, 0] * np.linalg.norm(solution.w)), 0.0, atol=1e-12)
    styles = {(line.get_color(), str(line.get_linestyle())) for line in display.lines_.values()}
    assert len(styles) == 2


# -- points ------------------------------------------------------------------------------------------------------------


def test_points_are_stereographic_projections_by_class_train_and_test_apart(four):
    train = np.arange(len(four.y)) % 3 > 0
    display = PoincareDisplay(four.X[train], four.y[train], X_test=four.X[~train], y_test=four.y[~train]).plot()
    for drawn, rows in ((display.points_, train), (display.test_points_, ~train)):
        for label in range(4):
            x = four.X[rows & (four.y == label)]
            np.testing.assert_allclose(drawn[label].get_offsets(), x[:, 1:] / (1.0 + x[:, :1]), rtol=1e-12)
            np.testing.assert_allclose(drawn[label].get_facecolor()[0, :3], to_rgb(CLASS_COLOURS[label]))
    circle, triangle = display.points_[0].get_paths()[0], display.test_points_[0].get_paths()[0]
    assert len(triangle.vertices) == 4
    assert len(circle.vertices) > 10
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["0", "1", "2", "3", "train", "test"]


def test_recentring_is_an_isometry_that_carries_points_and_boundary_along():
    data = make_gaussian_mixture(20, 2, centers=[[3.0, 1.0], [3.5, -0.5]], scale=0.4, random_state=3)
    w = np.array([-0.97, -1.0, 0.1])
    display = PoincareDisplay.from_solutions({"w": w}, data.X, data.y, center="mean")
    shown = np.empty((40, 2))
    for label, collection in display.points_.items():
        shown[data.y == label] = collection.get_offsets()
    assert np.linalg.norm(shown.mean(axis=0)) < 0.2
    first, second = np.triu_indices(40, 1)
    before = data.X[:, 1:] / (1.0 + data.X[:, :1])
    np.testing.assert_allclose(
        disk_distance(shown[first], shown[second]), disk_distance(before[first], before[second]), rtol=1e-7
    )
    arc = line_points(display.lines_["w"], inside=0.99999)
    nearest = disk_distance(shown[:, None], arc[None]).min(axis=1)
    np.testing.assert_allclose(nearest, np.abs(signed_distance(data.X, w)), atol=2e-3)


def test_edges_are_geodesics():
    tree = make_tree(40, radius=4.0, random_state=0)
    display = PoincareDisplay(tree.X, tree.y, edges=tree.edges, center=tree.X[5]).plot()
    segments = display.ax_.collections[0].get_segments()
    assert len(segments) == 39
    for segment in segments:
        whole = disk_distance(segment[0], segment[-1])
        assert whole == pytest.approx(tree.edge_length, rel=1e-7)
        detour = disk_distance(segment[0], segment[1:-1]) + disk_distance(segment[1:-1], segment[-1])
        np.testing.assert_allclose(detour, whole, rtol=1e-7)


# -- regions -----------------------------------------------------------------------------------------------------------


def pixel_classes(display, resolution):
    """Disk points at pixel centres inside the disk, and the class each pixel's colour stands for."""
    image = np.asarray(display.regions_.get_array())
    left, right, bottom, top = display.regions_.get_extent()
    centre = (np.arange(resolution) + 0.5) / resolution
    x, y = np.meshgrid(left + (right - left) * centre, bottom + (top - bottom) * centre)
    points = np.column_stack([x.ravel(), y.ravel()])
    inside = np.linalg.norm(points, axis=1) < 0.99
    pale = 1.0 - 0.28 * (1.0 - np.array([to_rgb(colour) for colour in CLASS_COLOURS]))
    gaps = np.linalg.norm(image.reshape(-1, 1, 3)[inside] - pale, axis=2)
    assert gaps.min(axis=1).max() < 1e-9
    return points[inside], gaps.argmin(axis=1)


@pytest.mark.parametrize("geometry", ["lorentz", "poincare", "klein", "tangent", "halfspace"])
def test_regions_are_the_predictions_whatever_the_coordinates(four, geometry):
    X = from_lorentz(four.X, geometry)
    model = HyperbolicSVC(solver="euclidean", geometry=geometry).fit(X, four.y)
    display = PoincareDisplay.from_estimator(model, X, four.y, resolution=60)
    points, shown = pixel_classes(display, 60)
    expected = model.predict(from_lorentz(to_hyperboloid(points), geometry))
    assert np.mean(shown == expected) > 0.999  # coordinates differ by rounding, which may decide a pixel on a border
    assert len(np.unique(shown)) == 4


def test_regions_follow_zoom_and_centre(four):
    model = HyperbolicSVC(solver="euclidean").fit(four.X, four.y)
    x = four.X[7]
    display = PoincareDisplay.from_estimator(model, four.X, four.y, zoom=(0.1, -0.2, 0.3), center=x, resolution=40)
    points, shown = pixel_classes(display, 40)
    # The boost that takes the origin to x.
    boost = np.block([[x[:1, None], x[None, 1:]], [x[1:, None], np.eye(2) + np.outer(x[1:], x[1:]) / (1.0 + x[0])]])
    assert np.mean(shown == model.predict(to_hyperboloid(points) @ boost.T)) > 0.999
    assert display.ax_.get_xlim() == pytest.approx((-0.2, 0.4))
    assert display.ax_.get_ylim() == pytest.approx((-0.5, 0.1))


def test_the_two_sides_of_one_solution(two):
    w = np.array([0.2, 1.0, 0.4])
    display = PoincareDisplay.from_solutions({"w": w}, two.X, two.y, regions=True, resolution=50)
    points, shown = pixel_classes(display, 50)
    np.testing.assert_array_equal(shown, product(to_hyperboloid(points), w) > 0.0)


def test_the_rendered_picture_has_each_side_in_its_colour():
    """Read from the finished bitmap, so that a picture drawn upside down would be noticed."""
    X = to_hyperboloid(np.array([[0.0, 0.95], [0.05, 0.95]]))
    w = np.array([0.3, -0.4, 1.0])
    display = PoincareDisplay.from_solutions({"w": w}, X, [0, 1], regions=True, zoom=(0.2, 0.1, 0.6))
    display.figure_.canvas.draw()
    bitmap = np.asarray(display.figure_.canvas.buffer_rgba())[..., :3] / 255.0
    points = np.random.default_rng(0).uniform([-0.35, -0.45], [0.75, 0.6], size=(400, 2))
    x = to_hyperboloid(points[np.linalg.norm(points, axis=1) < 0.95])
    x = x[np.abs(signed_distance(x, w)) > 0.1]  # clear of the line itself
    columns, rows = display.ax_.transData.transform(x[:, 1:] / (1.0 + x[:, :1])).astype(int).T
    pale = 1.0 - 0.28 * (1.0 - np.array([to_rgb(colour) for colour in CLASS_COLOURS[:2]]))
    expected = pale[(product(x, w) > 0.0).astype(int)]
    np.testing.assert_allclose(bitmap[bitmap.shape[0] - 1 - rows, columns], expected, atol=0.01)


def test_searches_foreign_classifiers_and_string_labels(two):
    names = np.array(["left", "right"])[two.y]
    search = GridSearchCV(HyperbolicSVC(solver="euclidean"), {"C": [0.1, 1.0]}, cv=2).fit(two.X, names)
    display = PoincareDisplay.from_estimator(search, two.X, names, resolution=20)
    assert [text.get_text() for text in display.legend_.get_texts()] == ["left", "right", "euclidean"]
    foreign = LogisticRegression().fit(two.X, two.y)
    with pytest.raises(ValueError, match=r"pass geometry=\.\.\."):
        PoincareDisplay.from_estimator(foreign, two.X, two.y)
    display = PoincareDisplay.from_estimator(foreign, two.X, two.y, geometry="lorentz", resolution=20)
    points, shown = pixel_classes(display, 20)
    np.testing.assert_array_equal(shown, foreign.predict(to_hyperboloid(points)))


def test_data_frames_keep_their_column_names(two):
    frame = pd.DataFrame(two.X, columns=["t", "x", "y"])
    model = HyperbolicSVC(solver="euclidean").fit(frame, two.y)
    display = PoincareDisplay.from_estimator(model, frame, pd.Series(two.y), resolution=20)
    points, shown = pixel_classes(display, 20)
    named = pd.DataFrame(to_hyperboloid(points), columns=frame.columns)
    np.testing.assert_array_equal(shown, model.predict(named))


def test_curvature_is_read_from_the_estimator(two):
    X = from_lorentz(two.X, "poincare", 4.0)
    model = HyperbolicSVC(solver="euclidean", geometry="poincare", curvature=4.0).fit(X, two.y)
    display = PoincareDisplay.from_estimator(model, X, two.y, resolution=10)
    np.testing.assert_allclose(display.X, two.X, rtol=1e-9, atol=1e-9)


# -- layout ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 20])
def test_the_legend_covers_nothing_and_fits_in_the_figure(n_classes):
    data = make_gaussian_mixture(3, n_classes, random_state=0)
    normals = {"a method of a rather long name": [0.0, 1.0, 0.0], "ball": [1.0, 0.0, 0.0]}
    display = PoincareDisplay.from_solutions(normals, data.X, data.y)
    display.figure_.draw_without_rendering()
    axes, legend = display.ax_.get_window_extent(), display.legend_.get_window_extent()
    assert not legend.overlaps(axes)
    figure = display.figure_.bbox
    assert figure.x0 <= legend.x0 <= legend.x1 <= figure.x1
    assert figure.y0 <= legend.y0 <= legend.y1 <= figure.y1
    assert axes.width == pytest.approx(axes.height, rel=1e-6)
    assert display.ax_.get_xticks().size == display.ax_.get_yticks().size == 0


@pytest.mark.parametrize("zoom", ["data", "boundary"])
def test_automatic_zoom_is_a_small_square_around_what_matters(zoom):
    data = make_gaussian_mixture(30, 2, centers=[[1.0, 0.6], [1.0, -0.6]], scale=0.2, random_state=0)
    w = np.array([0.0, 0.0, 1.0])
    display = PoincareDisplay.from_solutions({"w": w}, data.X, data.y, zoom=zoom)
    (left, right), (bottom, top) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert right - left == pytest.approx(top - bottom)
    wanted = data.X if zoom == "data" else data.X[np.argsort(np.abs(signed_distance(data.X, w)))[:6]]
    p = wanted[:, 1:] / (1.0 + wanted[:, :1])
    assert np.all((p > [left, bottom]) & (p < [right, top]))
    assert right - left < 1.5 * np.ptp(p, axis=0).max()


def test_draws_on_axes_that_are_given(two):
    ax = plt.subplots()[1]
    display = PoincareDisplay.from_solutions({"w": [0.0, 1.0, 0.0]}, two.X, two.y, ax=ax, legend=False)
    assert display.ax_ is ax
    assert display.legend_ is None
    assert display.lines_["w"] in ax.lines


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_only_the_plane_is_drawn(two):
    solid = make_gaussian_mixture(10, 2, dim=3, random_state=0)
    with pytest.raises(ValueError, match=r"only the hyperbolic plane \(d = 2\) can be drawn; X has .* d = 3"):
        PoincareDisplay.from_solutions({}, solid.X, solid.y)
    with pytest.raises(ValueError, match=r"only the hyperbolic plane \(d = 2\) can be drawn: the w of 'deep'"):
        PoincareDisplay.from_solutions({"deep": [0.0, 1.0, 0.0, 0.0]}, two.X, two.y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X_test": np.array([[1.0, 0.0, 0.0]])}, "give both or neither"),
        ({"center": "median"}, "center must be None, 'mean'"),
        ({"zoom": "edge"}, "zoom must be None, 'data'"),
        ({"zoom": (0.0, 0.0, 0.0)}, "half width of zoom must be positive"),
        ({"zoom": "boundary"}, "needs a boundary"),
        ({"regions": True}, "exactly one solution and two classes"),
        ({"edges": [[0.5, 1.0]]}, r"edges must be an \(m, 2\) array of integers"),
    ],
)
def test_bad_arguments_are_named(two, options, message):
    with pytest.raises(ValueError, match=message):
        PoincareDisplay.from_solutions({}, two.X, two.y, **options)


def test_labels_must_fit(two):
    with pytest.raises(ValueError, match=r"labels of X must have shape \(80,\)"):
        PoincareDisplay(two.X, two.y[:-1])
    with pytest.raises(ValueError, match="not among the classes: 1"):
        PoincareDisplay(two.X, two.y, classes=[0])
    many = make_gaussian_mixture(1, 21, random_state=0)
    with pytest.raises(ValueError, match="at most 20 classes"):
        PoincareDisplay.from_solutions({}, many.X, many.y)


def test_points_without_a_label_are_rings_in_the_colour_of_no_class():
    X, y = make_gaussian_mixture(20, 3, random_state=0, return_X_y=True)
    model = HyperbolicSVC().fit(X, y)
    partly = np.where(y == 0, None, y)  # no point of the first class has a label: the others keep their colours
    display = PoincareDisplay.from_estimator(model, X, partly, regions=False)
    rings = display.points_.pop(None)
    np.testing.assert_allclose(rings.get_offsets(), from_lorentz(X[y == 0], "poincare"), atol=1e-12)
    assert rings.get_facecolor().size == 0
    assert to_hex(rings.get_edgecolor()[0]).upper() == UNLABELLED
    assert {k: to_hex(dots.get_facecolor()[0]).upper() for k, dots in display.points_.items()} == {
        1: CLASS_COLOURS[1],
        2: CLASS_COLOURS[2],
    }
    assert "no label" in [text.get_text() for text in display.legend_.get_texts()]
    with pytest.raises(ValueError, match="edges must join rows from 0 to 59, got 0 to 60"):
        PoincareDisplay(X, y, edges=[[0, 60]]).plot()
