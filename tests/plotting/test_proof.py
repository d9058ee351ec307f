"""The picture of a proof against values computed without it: objectives of many w, the checker, Clarabel."""

import matplotlib

matplotlib.use("Agg")

import clarabel
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse

from hypermargin import MarginProblem, solve
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry.isometries import boost, random_isometry, transform_points
from hypermargin.geometry.lorentz import lift
from hypermargin.plotting import ProofDisplay, plot_proof
from hypermargin.plotting.curves import LeastObjective
from hypermargin.problems import GeodesicBall


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def gaussian(dim=2, **further):
    X, y = make_gaussian_mixture([25, 25], 2, dim=dim, scale=0.8, random_state=0, return_X_y=True)
    X = transform_points(X, random_isometry(dim, 1.5, np.random.default_rng(5)))  # the frame matters
    return MarginProblem(X, np.where(y == 1, 1.0, -1.0), **further)


def ring():
    """A class within the other: the minimiser of the risk is timelike, and directions have to be split."""
    rng = np.random.default_rng(3)
    inner, outer = 0.3 * rng.standard_normal((8, 2)), rng.standard_normal((40, 2))
    outer *= (1.5 + 0.3 * rng.standard_normal((40, 1))) / np.linalg.norm(outer, axis=1, keepdims=True)
    return MarginProblem(lift(np.vstack([inner, outer])), np.repeat([1.0, -1.0], [8, 40]))


PROBLEMS = {
    "gaussian": gaussian(),
    "space": gaussian(dim=3),
    "weights": gaussian(C=0.3, sample_weight=np.linspace(0.2, 2.0, 50)),
    "ring": ring(),
    "timelike": gaussian(allow_timelike=True),
    "timelike ring": MarginProblem(ring().X, ring().y, allow_timelike=True),
    "robust": gaussian(uncertainty=GeodesicBall(0.1)),
}


def random_normals(problem, t, rng, scale):
    """Feasible w of the frame with these t: all around, from lightlike on, near the scale of the solution too."""
    v = rng.standard_normal((t.size, problem.dim))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    least = 0.0 if problem.allow_timelike else np.abs(t)
    radius = least + scale * rng.exponential(size=t.size) * rng.integers(0, 2, size=t.size)
    return np.column_stack([t, v * radius[:, None]])


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_objective_lies_below_the_drawn_envelope(name):
    problem = PROBLEMS[name]
    solution = solve(problem)
    display = ProofDisplay.from_solution(solution, problem, zoom=None, resolution=0)
    t, envelope = (np.asarray(data) for data in display.envelope_.get_data())
    frame, rng = boost(lift(solution.certificate.centre)), np.random.default_rng(0)
    for _ in range(6):
        for w, bound in zip(random_normals(problem, t, rng, np.linalg.norm(solution.w)), envelope, strict=True):
            outside = frame @ w
            value = 0.5 * max(float(w[1:] @ w[1:] - w[0] ** 2), 0.0) + problem.risk(outside)
            assert bound <= value * (1.0 + 1e-9)
    # near the optimum the envelope is tight, so that these w come close to it
    near = display.w + 1e-3 * np.linalg.norm(display.w) * rng.standard_normal((200, problem.dim + 1))
    near = near[[problem.is_feasible(w) for w in near]]
    bounds = display.curves.envelope(near[:, 0])
    values = np.array([problem.objective(frame @ w) for w in near])
    assert np.all(bounds <= values * (1.0 + 1e-9))


@pytest.mark.parametrize("name", PROBLEMS)
def test_intervals_prove_what_the_checker_says(name):
    problem = PROBLEMS[name]
    solution = solve(problem)
    display = ProofDisplay.from_solution(solution, problem, resolution=0)
    levels = [segment[0, 1] for segment in display.intervals_.get_segments()]
    assert min(levels) == pytest.approx(solution.certificate.verify(problem), rel=1e-9)
    assert display.bound_.get_ydata()[0] == solution.lower_bound
    t, envelope = (np.asarray(data) for data in display.envelope_.get_data())
    for segment in display.intervals_.get_segments():  # an interval proves no more than the envelope has over it
        inside = (t > segment[:, 0].min()) & (t < segment[:, 0].max())
        assert np.all(envelope[inside] >= segment[0, 1] * (1.0 - 1e-9))


@pytest.mark.parametrize("name", PROBLEMS)
def test_objective_curve_lies_above_and_touches_the_optimum(name):
    problem = PROBLEMS[name]
    solution = solve(problem)
    display = ProofDisplay.from_solution(solution, problem, resolution=13)
    t, values = (np.asarray(data) for data in display.objective_.get_data())
    assert np.all(values >= display.curves.envelope(t) * (1.0 - 1e-9))
    ((t_best,), (best,)) = display.optimum_.get_data()
    assert best == solution.objective == pytest.approx(problem.objective(solution.w), rel=1e-10)  # an upper end
    assert values.min() == pytest.approx(best, rel=1e-6)
    assert t[np.argmin(values)] == t_best


def conic_least(Z, costs, t):
    """``min max(|wr|^2 - t^2, 0)/2 + risk`` over wr by Clarabel, and the wr."""
    n, d = Z.shape[0], Z.shape[1] - 1
    cone = np.zeros((d + 2, d + 1 + n))
    cone[0, d] = cone[1, d] = -0.5
    cone[2:, :d] = -np.eye(d)
    A = sparse.vstack(
        [
            sparse.hstack([sparse.csc_matrix(-Z[:, 1:]), sparse.csc_matrix((n, 1)), -sparse.eye(n)]),
            sparse.hstack([sparse.csc_matrix((n + 1, d)), -sparse.eye(n + 1)]),
            sparse.csc_matrix(cone),
        ],
        format="csc",
    )
    b = np.concatenate([Z[:, 0] * t - 1.0, np.zeros(n + 1), [(t * t + 1) / 2, (t * t - 1) / 2], np.zeros(d)])
    q = np.concatenate([np.zeros(d), [0.5], costs / np.sqrt(2.0)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(2 * n + 1), clarabel.SecondOrderConeT(d + 2)]
    found = clarabel.DefaultSolver(sparse.csc_matrix((q.size, q.size)), q, A, b, cones, settings).solve()
    return found.obj_val, np.array(found.x[:d])


@pytest.mark.parametrize("name", ["gaussian", "space", "weights", "timelike", "timelike ring"])
def test_least_objective_is_that_of_a_conic_solver(name):
    problem = PROBLEMS[name]
    centre = problem.centre
    least = LeastObjective(problem, centre)
    Z = problem.covectors_around(centre)
    for t in (-2.0, -0.4, 0.0, 0.3, 1.5):
        expected, wr = conic_least(Z, problem.costs, t)
        if problem.allow_timelike or np.linalg.norm(wr) > abs(t) * (1.0 + 1e-6):
            assert least.at(t, np.ones(problem.dim))[0] == pytest.approx(expected, rel=1e-5)


def test_least_objective_on_the_light_cone_is_that_of_a_fine_scan():
    problem = ring()
    least = LeastObjective(problem, problem.centre)
    angles = np.linspace(0.0, 2.0 * np.pi, 20001)
    for t in (-3.0, 1.0):
        wr = abs(t) * np.column_stack([np.cos(angles), np.sin(angles)])
        margins = np.column_stack([np.full(angles.size, t), wr]) @ problem.covectors_around(problem.centre).T
        scanned = (np.maximum(0.0, 1.0 - margins) @ problem.costs / np.sqrt(2.0)).min()
        _, relaxed = conic_least(problem.covectors_around(problem.centre), problem.costs, t)
        assert np.linalg.norm(relaxed) < abs(t) * (1.0 + 1e-6)  # so the least is lightlike
        assert least.at(t, np.ones(2))[0] == pytest.approx(scanned, rel=1e-5)


def test_degenerate_problem_says_how_many_regions_there_are():
    solution = solve(ring())
    regions = len(solution.certificate.regions)
    assert regions > 2
    display = ProofDisplay.from_solution(solution, ring(), resolution=0)
    assert display.ax_.get_title(loc="left").startswith(f"{regions} regions")
    assert len(display.minorants_.get_segments()) == regions


def test_hard_margin_is_drawn_with_the_soft_one_that_proves_it():
    X, y = make_gaussian_mixture([20, 20], 2, scale=0.25, random_state=3, return_X_y=True)
    problem = MarginProblem(X, np.where(y == 1, 1.0, -1.0), C=np.inf)
    solution = solve(problem)
    display = ProofDisplay.from_solution(solution, problem, resolution=11)
    assert display.optimum_.get_ydata()[0] == solution.objective
    assert f"C = {solution.certificate.C:g}" in display.objective_.get_label()
    assert np.min(display.objective_.get_ydata()) == pytest.approx(solution.objective, rel=1e-5)


def test_figure_has_the_history_beside_the_proof():
    problem = gaussian()
    solution = solve(problem)
    figure = plot_proof(solution, problem, resolution=5)
    _, bounds, gap = figure.axes
    drawn = {line.get_label(): np.asarray(line.get_ydata()) for line in bounds.lines}
    np.testing.assert_array_equal(drawn["objective"], solution.history["objective"])
    np.testing.assert_array_equal(drawn["lower bound"], solution.history["lower_bound"])
    shown = np.asarray(gap.lines[0].get_ydata())
    expected = 1.0 - drawn["lower bound"] / drawn["objective"]
    there = np.isfinite(shown)
    np.testing.assert_allclose(shown[there], expected[there], rtol=1e-6, atol=1e-12)
    assert np.all(expected[~there] <= 1e-12)


def test_solution_without_history_is_the_proof_alone():
    problem = MarginProblem(gaussian().X, np.ones(50))  # one class: nothing had to be searched
    solution = solve(problem)
    (ax,) = plot_proof(solution, problem, resolution=5).axes
    drawn = {line.get_label(): line for line in ax.lines}
    assert "least objective found at t" in {text.get_text() for text in ax.get_legend().get_texts()}
    assert np.min(drawn["least objective found at t"].get_ydata()) == pytest.approx(0.0, abs=1e-9)


def test_zoom_is_honoured_or_refused():
    problem = gaussian()
    solution = solve(problem)
    ax = plt.subplots()[1]
    display = ProofDisplay.from_solution(solution, problem, ax=ax, zoom=(-0.5, 0.25), resolution=0)
    assert display.ax_ is ax
    assert ax.get_xlim() == (-0.5, 0.25)
    whole = ProofDisplay.from_solution(solution, problem, zoom=None, resolution=0)
    nodes = [region.sign * region.nodes[-1] for region in solution.certificate.regions]
    assert whole.ax_.get_xlim()[0] < min(nodes)
    assert max(nodes) < whole.ax_.get_xlim()[1]
    for zoom in ("disk", (1.0, 1.0)):
        with pytest.raises(ValueError, match="zoom must be"):
            ProofDisplay.from_solution(solution, problem, zoom=zoom)


def test_nothing_to_draw_is_said():
    problem = gaussian()
    with pytest.raises(ValueError, match="'euclidean' has no certificate"):
        ProofDisplay.from_solution(solve(problem, "euclidean"), problem)
    overlapping = MarginProblem(lift([[0.3, 0.1], [0.3, 0.1]]), [1.0, -1.0], C=np.inf)
    with pytest.raises(ValueError, match=r"no curves to draw.*No hyperplane separates"):
        plot_proof(solve(overlapping), overlapping)
    assert not plt.get_fignums()


def test_the_proof_of_another_problem_is_not_drawn():
    with pytest.raises(ValueError, match="about another problem: C is 2 here and 1 there"):
        ProofDisplay.from_solution(solve(gaussian()), gaussian(C=2.0))
