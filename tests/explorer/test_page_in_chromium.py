"""The page in a real browser: what it draws is where the geometry package says, and what it says is what was proved."""

import base64
import io
import json
import xml.etree.ElementTree as ET

import matplotlib.image
import numpy as np
import pytest
from scipy.linalg import expm
from sklearn.svm import SVC

from hypermargin import HyperbolicSVC, explore
from hypermargin.explorer.plane import best_plane
from hypermargin.geometry import boost, distance, from_lorentz, move_from_origin, to_lorentz, translation_to_origin
from hypermargin.plotting.palette import CLASS_COLOURS
from reference.objective import lift

EXPLORER = "globalThis.hypermarginExplorer"
#: Where the window of the plane is at first: 2.12 units across the smaller side of the stage.
STAGE = f"(({EXPLORER}).stage.getBoundingClientRect())"


def pixels(browser, indices):
    """Where the page says it draws points, shape (m, 2)."""
    expression = f"{json.dumps(list(indices))}.map(k => {EXPLORER}.view.pixelsOf({EXPLORER}.pointOf(k)))"
    return np.array(browser.evaluate(expression))


def disk_to_pixels(browser, disk):
    """Where points of the Poincaré disk belong on the screen, by arithmetic of our own."""
    width, height = browser.evaluate(f"[{STAGE}.width, {STAGE}.height]")
    scale = min(width, height) / 2.12
    return np.column_stack([width / 2 + scale * disk[:, 0], height / 2 - scale * disk[:, 1]])


def order_on_page(X):
    """Training points come first: every second one, then the others."""
    return np.concatenate([X[::2], X[1::2]])


def seen(browser):
    """The screen as numbers, shape (height, width, 3), from 0 to 1."""
    return matplotlib.image.imread(io.BytesIO(browser.picture()))[..., :3]


def colour_near(picture, at, colour, reach=2):
    """How far the best pixel around a position is from a colour."""
    wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    x, y = np.round(at).astype(int)
    around = picture[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1]
    return float(np.min(np.abs(around - wanted).max(axis=-1)))


def test_points_start_where_they_are_on_the_disk(browser, page, two_classes):
    X, y, _ = two_classes
    browser.open(page)
    expected = disk_to_pixels(browser, from_lorentz(order_on_page(X), "poincare"))
    np.testing.assert_allclose(pixels(browser, range(len(X))), expected, atol=1e-6)
    picture = seen(browser)
    for k, label in enumerate(order_on_page(y)):  # and there they are seen, unless others cover them
        alone = np.min(np.delete(np.linalg.norm(expected - expected[k], axis=1), k)) > 14
        if alone:
            assert colour_near(picture, expected[k], CLASS_COLOURS[int(label == "plain")]) < 0.02


def test_dragging_moves_the_plane_by_the_isometry_of_the_geometry_package(browser, page, two_classes):
    X = order_on_page(two_classes[0])
    browser.open(page)
    start = pixels(browser, [7])[0]
    end = start + np.array([120.0, -75.0])
    browser.drag(start, end)
    width, height = browser.evaluate(f"[{STAGE}.width, {STAGE}.height]")
    scale = min(width, height) / 2.12
    disk = [(end[0] - width / 2) / scale, (height / 2 - end[1]) / scale]
    q, p = to_lorentz(np.array(disk), "poincare"), X[7]
    # The translation along the geodesic from p to q: to the origin, along the ray to where q then is, and back.
    move = boost(p) @ boost(translation_to_origin(p) @ q) @ translation_to_origin(p)
    expected = disk_to_pixels(browser, from_lorentz(lift((X @ move.T)[:, 1:]), "poincare"))
    found = pixels(browser, range(len(X)))
    np.testing.assert_allclose(found[7], end, atol=1e-6)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    picture = seen(browser)
    label = order_on_page(two_classes[1])[7]
    assert colour_near(picture, end, CLASS_COLOURS[int(label == "plain")]) < 0.02


@pytest.mark.parametrize(("key", "model"), [("2", "klein"), ("3", "halfspace")])
def test_the_other_models_are_those_of_the_geometry_package(browser, page, two_classes, key, model):
    X = order_on_page(two_classes[0])
    browser.open(page)
    browser.evaluate(f"{EXPLORER}.stage.focus()")
    browser.press("ArrowRight")
    browser.press(key)
    moved = lift((X @ boost(lift(np.array([np.sinh(0.25), 0.0]))).T)[:, 1:])
    coordinates = from_lorentz(moved, model)
    found = pixels(browser, range(len(X)))
    # Scale and place of the window are the view's affair; everything else is not.
    scale, (x, y), width, height = browser.evaluate(
        f"(({{scale, offset, width, height}}) => [scale, offset, width, height])({EXPLORER}.view)"
    )
    expected = np.column_stack(
        [width / 2 + scale * (coordinates[:, 0] - x), height / 2 - scale * (coordinates[:, 1] - y)]
    )
    np.testing.assert_allclose(found, expected, atol=1e-6 * scale)
    picture = seen(browser)
    shown = [k for k in range(30) if 80 < found[k, 0] < width - 40 and 120 < found[k, 1] < height - 40]
    apart = [k for k in shown if np.min(np.delete(np.linalg.norm(found - found[k], axis=1), k)) > 14]
    assert len(apart) >= 5
    for k in apart:
        colour = CLASS_COLOURS[int(order_on_page(two_classes[1])[k] == "plain")]
        assert colour_near(picture, found[k], colour) < 0.02


def test_dragging_the_half_plane_leaves_infinity_alone(browser, page, two_classes):
    X = order_on_page(two_classes[0])
    browser.open(page)
    browser.evaluate(f"{EXPLORER}.setModel('halfplane')")
    before = pixels(browser, range(len(X)))
    start = before[np.argmin(np.linalg.norm(before - [430.0, 500.0], axis=1))]
    end = start + np.array([60.0, -90.0])
    browser.drag(start, end)
    after = pixels(browser, range(len(X)))
    # A similarity of the half-plane: all pixels are stretched by one factor, without a turn.
    ratio = (after[1:] - after[0]) / (before[1:] - before[0])
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)
    np.testing.assert_allclose(after[before[:, 0] == start[0]][0], end, atol=1e-6)


def test_wheel_double_click_and_reset(browser, page, two_classes):
    browser.open(page)
    at_first = pixels(browser, range(60))
    target = at_first[11]
    x, y = (int(value) for value in np.round(target))  # the wheel's position comes in whole pixels
    there = f"{EXPLORER}.dataPointAt([{x}, {y}])"
    before = browser.evaluate(there)
    browser.wheel(x, y, -400)
    np.testing.assert_allclose(browser.evaluate(there), before, atol=1e-12)
    assert browser.evaluate(f"{EXPLORER}.view.zoom") == pytest.approx(np.exp(0.64))
    np.testing.assert_allclose(pixels(browser, [11])[0] - [x, y], np.exp(0.64) * (target - [x, y]), atol=1e-6)
    browser.evaluate(f"{EXPLORER}.stage.focus()")
    browser.press("0")
    np.testing.assert_allclose(pixels(browser, range(60)), at_first, atol=1e-9)
    browser.click(*target, count=2)
    width, height = browser.evaluate(f"[{STAGE}.width, {STAGE}.height]")
    np.testing.assert_allclose(pixels(browser, [11])[0], [width / 2, height / 2], atol=1e-6)
    assert browser.evaluate(f"{EXPLORER}.selected") == 11


def test_far_points_do_not_jump(browser, tmp_path):
    """At radius 14 a float is wrong by half a unit; drawn pixels must be right all the same, and after a long way."""
    rng = np.random.default_rng(0)
    far = lift(np.sinh(14.0) * np.array([np.cos(0.7), np.sin(0.7)]))
    near = lift(0.45 * np.array([[np.cos(a), np.sin(a)] for a in 2.0 * np.pi * np.arange(7) / 7]))
    around = move_from_origin(near, far)
    others = lift(rng.normal(size=(200, 2)))
    X = np.concatenate([far[None], around, others])
    made = explore(None, X, np.repeat([0, 1], [8, 200]), center="origin")
    browser.open(made.save(tmp_path / "far.html"))
    browser.evaluate(
        f"""(() => {{ const e = {EXPLORER};
        for (let k = 0; k < 400; k++) {{ e.view.nudge(k, 0.3); e.view.rotate(0.1 * k); e.draw(); }}
        e.centreOn(e.pointOf(0)); }})()"""
    )
    browser.settle()
    found = pixels(browser, range(8))
    width, height = browser.evaluate(f"[{STAGE}.width, {STAGE}.height]")
    scale = min(width, height) / 2.12
    disk = (found - [width / 2, height / 2]) / scale * [1, -1]
    shown = to_lorentz(disk, "poincare")
    # An isometry keeps all distances: between the neighbours as between the points they were made of.
    for k in range(8):
        np.testing.assert_allclose(distance(shown, shown[k]), distance(X[:8], X[k]), atol=2e-4)
    picture = seen(browser)
    for at in found:
        assert colour_near(picture, at, CLASS_COLOURS[0], reach=1) < 0.02


def test_names_are_text_whatever_they_hold(browser, page, two_classes):
    browser.open(page)
    name = two_classes[1][0]
    assert "<script>" in name
    listed = browser.evaluate("[...document.querySelectorAll('.hm-legend .hm-name')].map(e => e.textContent)")
    assert sorted(listed) == sorted({*two_classes[1]})
    browser.evaluate(f"{EXPLORER}.select(0)")
    assert name in browser.evaluate("document.querySelector('.hm-details').textContent")
    assert browser.evaluate("document.querySelector('h1').textContent").endswith(name)
    assert browser.evaluate("document.scripts.length") == 2
    assert browser.evaluate("document.images.length") == 0
    assert browser.evaluate("document.title") == f"A page {name}"
    svg = browser.evaluate(f"{EXPLORER}.svg()")
    assert ET.fromstring(svg).find("{http://www.w3.org/2000/svg}title").text == f"A page {name}"


def test_the_slider_shows_what_is_certified(browser, page, two_classes):
    X, y, _ = two_classes
    browser.open(page)
    texts = "[...document.querySelectorAll('.hm-numbers dd')].map(e => [e.dataset.number, e.textContent])"
    for k, C in enumerate((0.1, 1.0, 10.0)):
        slider = "document.querySelector('.hm-slider input')"
        browser.evaluate(f"({slider}.value = {k}, {slider}.dispatchEvent(new Event('input')))")
        browser.settle()
        shown = dict(browser.evaluate(texts))
        model = HyperbolicSVC(C=C).fit(X[::2], y[::2])
        problem = model.binary_problems(X[::2], y[::2])[0]
        assert browser.evaluate("document.querySelector('.hm-C').textContent") == f"C = {C:g}"
        assert float(shown["objective"]) == pytest.approx(problem.objective(model.solutions_[0].w), rel=1e-6)
        assert float(shown["bound"]) <= float(shown["objective"]) * (1 + 1e-7)
        # The bound on the page is that of a certificate, which the checker accepts for this very problem.
        step = browser.evaluate(f"(({{bound, normal, gap}}) => [bound, normal, gap])({EXPLORER}.scene.path.steps[{k}])")
        assert float(shown["bound"]) == pytest.approx(step[0], rel=1e-7)
        assert step[0] <= problem.objective(np.array(step[1]))
        assert step[2] <= 1e-6
        certified = model.solutions_[0].certificate.verify(problem)
        assert step[0] == pytest.approx(certified, rel=2e-6)
        assert "Optimal" in browser.evaluate("document.querySelector('.hm-slider ~ .hm-note').textContent")
        assert browser.evaluate("document.querySelectorAll('.hm-proof-envelope, .hm-proof-optimum').length") == 2


def test_boundaries_on_the_page_are_where_the_score_is_zero(browser, page, two_class_model):
    browser.open(page)
    L = expm(np.array([[0.0, 0.9, -0.4], [0.9, 0.0, -0.7], [-0.4, 0.7, 0.0]]))  # some isometry, as a Lorentz matrix
    origin = from_lorentz(lift((L @ [1.0, 0.0, 0.0])[1:]), "poincare")
    browser.evaluate(f"{EXPLORER}.view.drag({EXPLORER}.view.isometry, [430, 400], [520, 330]), {EXPLORER}.draw()")
    assert np.linalg.norm(origin) < 1
    points = np.array(
        browser.evaluate(
            f"""(() => {{ const e = {EXPLORER}; const [line] = e.boundaries(); const found = [];
            for (const path of line.paths) for (let k = 2; k < path.length - 2; k += 2)
              found.push(e.dataPointAt([path[k], path[k + 1]]));
            return found; }})()"""
        )
    )
    inner = points[np.linalg.norm(points, axis=1) < 0.98]
    assert len(inner) > 50
    scores = two_class_model.decision_function(to_lorentz(inner, "poincare"))
    np.testing.assert_allclose(scores, 0.0, atol=1e-3 * np.abs(two_class_model.coef_).max() / (1 - 0.98))


def test_hovering_tells_what_the_model_says(browser, page, two_classes, two_class_model):
    X = order_on_page(two_classes[0])
    browser.open(page)
    at = pixels(browser, [4])[0]
    browser.mouse("mouseMoved", *at)
    browser.settle()
    text = browser.evaluate("document.querySelector('.hm-hint').innerText")
    assert text.startswith("cell 008")
    radius = float(two_class_model.certified_radius(X[[4]])[0])
    assert f"{radius:.4g}".rstrip("0") in text
    rival, far = two_class_model.nearest_adversarial(X[[4]])
    assert f"{far[0]:.3g}"[:4] in text
    # The mark of the nearest change lies where the model says: at its distance, in its direction.
    found = browser.evaluate(f"(e => e.view.pixelsInto([0, 0], ...e.rivalOf(4)))({EXPLORER})")
    np.testing.assert_allclose(found, disk_to_pixels(browser, from_lorentz(rival, "poincare"))[0], atol=0.01)


def test_legend_hides_and_search_finds(browser, page, two_classes):
    _, y, ids = two_classes
    browser.open(page)
    k = int(np.flatnonzero(order_on_page(y) == "plain")[0])
    at = pixels(browser, [k])[0]
    names = browser.evaluate("[...document.querySelectorAll('.hm-legend .hm-name')].map(e => e.textContent)")
    browser.evaluate(f"document.querySelectorAll('.hm-legend button')[{names.index('plain')}].click()")
    browser.settle()
    assert browser.evaluate(f"{EXPLORER}.pickAt([{at[0]}, {at[1]}], 2)") == -1
    assert colour_near(seen(browser), at, CLASS_COLOURS[names.index("plain")], reach=1) > 0.05
    browser.evaluate("document.querySelector('.hm-link').click()")
    search = "document.querySelector('input[type=search]')"
    browser.evaluate(f"({search}.focus(), {search}.value = 'CELL 041', {search}.dispatchEvent(new Event('input')))")
    browser.press("Enter")
    assert browser.evaluate(f"{EXPLORER}.selected") == order_on_page(ids).tolist().index("cell 041")


def test_pictures_can_be_saved(browser, page, two_classes):
    browser.open(page)
    url = browser.evaluate(f"{EXPLORER}.flat().toDataURL('image/png')")
    png = matplotlib.image.imread(io.BytesIO(base64.b64decode(url.split(",")[1])))[..., :3]
    for k, at in enumerate(pixels(browser, range(30))):
        if k % 7 == 0:
            colour = CLASS_COLOURS[int(order_on_page(two_classes[1])[k] == "plain")]
            assert colour_near(png, at, colour, reach=4) < 0.1
    drawing = ET.fromstring(browser.evaluate(f"{EXPLORER}.svg()"))
    space = "{http://www.w3.org/2000/svg}"
    assert len(drawing.findall(f"{space}circle")) >= 30  # a training point is a circle
    assert len(drawing.findall(f"{space}path")) >= 30  # a test point is a triangle
    assert "var(" not in ET.tostring(drawing, encoding="unicode")


def test_more_dimensions_are_shown_on_a_plane_and_the_page_says_so(browser, tmp_path):
    rng = np.random.default_rng(6)
    X = lift(rng.normal(size=(60, 4)))
    y = (X[:, 1] > 0).astype(int)
    browser.open(explore(HyperbolicSVC().fit(X, y), X, y).save(tmp_path / "four.html"))
    notice = browser.evaluate("document.querySelector('.hm-notice').textContent")
    assert "totally geodesic plane" in notice
    assert "all 4 dimensions" in notice
    expected = disk_to_pixels(browser, from_lorentz(best_plane(X).shadow(X), "poincare"))
    np.testing.assert_allclose(pixels(browser, range(60)), expected, atol=1e-6)


def test_boundaries_of_several_classes_part_the_answers(browser, tmp_path):
    """Lines of the page, read back as points: on their two sides the model says different things."""
    rng = np.random.default_rng(7)
    y = np.repeat([0, 1, 2], 30)
    X = lift(0.6 * rng.normal(size=(90, 2)) + 1.4 * np.array([[1, 0], [-1, 0.5], [0, -1]])[y])
    model = SVC(kernel="rbf").fit(X, y)  # any classifier will do
    browser.open(explore({"kernel": model}, X, y, geometry="lorentz").save(tmp_path / "three.html"))
    browser.evaluate(f"{EXPLORER}.setModel('klein'), {EXPLORER}.nudge(1, 0.7), {EXPLORER}.draw()")
    sides = browser.evaluate(
        f"""(() => {{ const e = {EXPLORER}; const found = [];
        for (const path of e.boundaries()[0].paths) for (let k = 0; k + 3 < path.length; k += 4) {{
          const [x, y, u, v] = path.slice(k, k + 4), far = Math.hypot(u - x, v - y) / 2;
          if (far < 1) continue;
          const across = [(y - v) / far, (u - x) / far], middle = [(x + u) / 2, (y + v) / 2];
          found.push([1, -1].map((s) => e.dataPointAt([middle[0] + s * across[0], middle[1] + s * across[1]])));
        }}
        return found; }})()"""
    )
    pairs = np.array(sides)
    pairs = pairs[np.all(np.linalg.norm(pairs, axis=2) < 0.8, axis=1)]
    assert len(pairs) > 30
    left, right = (model.predict(to_lorentz(pairs[:, k], "poincare")) for k in (0, 1))
    assert np.mean(left != right) > 0.95


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1200, "dark")])
def test_it_fits_a_phone_and_the_night(browser, page, width, scheme):
    browser.size(width, 780, mobile=width < 500)
    browser.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    browser.open(page)
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    picture = seen(browser)
    corner = picture[760, 4]
    assert (corner.mean() < 0.2) == (scheme == "dark")


def test_seventy_thousand_points(browser, tmp_path, capsys):
    """The page of as many points as fashion-mnist has stays below 10 MB, and moves."""
    rng = np.random.default_rng(1)
    y = rng.integers(10, size=70_000)
    X = lift(1.5 * rng.normal(size=(70_000, 2)) + 2.5 * np.column_stack([np.cos(0.628 * y), np.sin(0.628 * y)]))
    model = HyperbolicSVC(multi_class="ovr", solver="euclidean").fit(X[::50], y[::50])
    path = explore(model, X, y, center="origin").save(tmp_path / "many.html")
    assert path.stat().st_size < 10e6
    browser.open(path)
    some = np.arange(0, 70_000, 997)
    expected = disk_to_pixels(browser, from_lorentz(X[some], "poincare"))
    np.testing.assert_allclose(pixels(browser, some.tolist()), expected, atol=1e-3)
    frames = browser.evaluate(f"{EXPLORER}.framesPerSecond(20)")
    with capsys.disabled():
        print(
            f"\n70,000 points by software rendering: {frames:.1f} frames per second, {path.stat().st_size / 1e6:.1f} MB"
        )


def test_points_without_a_label_have_no_verdict_and_edges_are_geodesics(browser, tmp_path):
    """The colours are those of the model's classes, whatever the labels at hand are."""
    disk = np.array([[-0.6, 0.0], [-0.5, 0.4], [0.6, 0.0], [0.5, 0.4], [0.0, 0.7], [0.1, -0.65]])
    X = to_lorentz(disk, "poincare")
    model = HyperbolicSVC().fit(X, ["a", "a", "b", "b", "b", "a"])
    ends = np.array([[4, 5], [0, 2]])
    made = explore(model, X, ["", "", "b", "b", None, "b"], edges=ends, center="origin")
    assert made.scene["classes"] == ["a", "b"]
    browser.open(made.save(tmp_path / "page.html"))
    browser.evaluate(f"{EXPLORER}.setRegions(false)")
    browser.settle()
    picture, at = seen(browser), disk_to_pixels(browser, disk)
    assert colour_near(picture, at[3], CLASS_COLOURS[1]) < 0.02
    assert colour_near(picture, at[1], made.scene["noColour"], reach=8) < 0.05  # a ring around what is not grey
    assert colour_near(picture, at[1], made.scene["noColour"], reach=0) > 0.2
    names = browser.evaluate("[...document.querySelectorAll('.hm-legend .hm-name')].map(e => e.textContent)")
    assert names == ["a", "b", "no label"]
    texts = []
    for k in (1, 4, 5):
        browser.mouse("mouseMoved", *at[k])
        browser.settle()
        texts.append(browser.evaluate("document.querySelector('.hm-hint').innerText"))
    assert "wrong" in texts[2]
    assert not any(sign in text for text in texts[:2] for sign in ("wrong", "\u2713"))
    # The middle of an edge is the middle of its geodesic: darker than the ground, as nothing is beside it.
    middle = from_lorentz(geodesic_middle(X[4], X[5])[None], "poincare")
    beside = middle + np.array([0.03, 0.0])
    on, off = (picture[tuple(np.round(disk_to_pixels(browser, p)[0][::-1]).astype(int))] for p in (middle, beside))
    assert on.sum() < off.sum() - 0.1


def geodesic_middle(x, y):
    """``(x + y)/|x + y|``."""
    total = x + y
    return total / np.sqrt(total[0] ** 2 - total[1:] @ total[1:])
