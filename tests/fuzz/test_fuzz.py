"""The tester tested: it finds planted falsehoods, its values are right, and on some hundred problems it is silent."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from flint import arb
from mpmath import mp

from fuzz.cases import BATCH, METHODS, SETS, Case, Noise, draw_batch
from fuzz.exact_values import ExactProblem, exact_normal, form
from fuzz.search import enumerated, in_frame
from fuzz.shrink import script, shrunk
from fuzz.verdict import Complaint, judge_batch, judge_case, judge_solution, make_problem, solved
from hypermargin.solvers import Status


@pytest.mark.parametrize("first", range(1, 17, 4))
def test_nothing_false_is_said(first):
    for batch in range(first, first + 4):
        report = judge_batch((0, batch))
        assert [(case.name, wrong) for case, wrong in report.found] == []
        assert sum(report.endings.values()) >= BATCH


def test_every_kind_is_drawn():
    cases = [case for batch in range(200) for case in draw_batch(0, batch)]
    counts = Counter(case.method for case in cases)
    assert all(counts[method] > 0 for method in METHODS)
    assert {case.noise.name for case in cases if case.noise is not None} == set(SETS)
    assert any(case.hard for case in cases)
    assert any(case.timelike for case in cases)
    radii = np.array([np.arcsinh(np.linalg.norm(case.space, axis=1).max()) for case in cases])
    assert np.all(np.histogram(radii, bins=[0, 2, 6, 10, 14, 19])[0] > 20)


OVERLAP = Case(
    "overlap", np.array([[0.5, 0.1], [-0.4, 0.3], [0.2, -0.6], [0.1, 0.2]]), np.array([1.0, -1, 1, -1]), (2.0,)
)
APART = Case("apart", np.array([[0.5, 0.1], [-0.4, 0.3]]), np.array([1.0, -1.0]), (np.inf,))


def verdict_on(case, **changes):
    problem = make_problem(case)
    exact = ExactProblem(case, case.C[0])
    points = in_frame(exact, exact.centre)
    (solution,) = solved(case, problem)
    start = enumerated(points[None], [case])[0]
    told = replace(solution, certificate=None, **{name: change(solution) for name, change in changes.items()})
    return judge_solution(case, problem, case.C[0], told, exact.centre, points, start)


def nearly_reached(solution):
    return solution.objective * (1.0 - 1e-14)


def longer(solution):
    return solution.w * 1.001


def higher(solution):
    return solution.objective * 1.01


def unproved(_):
    return Status.GAP_REMAINS


def impossible(_):
    return Status.INFEASIBLE


@pytest.mark.parametrize(
    ("case", "kind", "changes"),
    [
        (OVERLAP, "bound", {"lower_bound": nearly_reached, "w": longer, "objective": higher, "status": unproved}),
        (OVERLAP, "objective", {"objective": lambda s: np.nextafter(s.lower_bound, 0.0), "lower_bound": lambda s: 0.0}),
        (OVERLAP, "gap", {"lower_bound": lambda s: s.objective * (1.0 + 1e-15)}),
        (OVERLAP, "optimal", {"lower_bound": lambda s: s.objective * (1.0 - 1e-5)}),
        (OVERLAP, "infeasible", {"lower_bound": lambda s: np.inf, "status": impossible}),
        (APART, "infeasible", {"lower_bound": lambda s: np.inf, "status": impossible}),
        (APART, "objective", {"w": lambda s: s.w * (1.0 - 1e-12)}),
        (OVERLAP, "NaN", {"objective": lambda s: np.nan}),
    ],
)  # fmt: skip
def test_planted_falsehoods_are_found(case, kind, changes):
    assert verdict_on(case) is None
    assert getattr(verdict_on(case, **changes), "kind", None) == kind


def test_far_out_falsehoods_are_found():
    """A bound a millionth too high, for points at radius 12, where doubles know nothing of the margins."""
    far = replace(OVERLAP, space=OVERLAP.space + np.array([6e4, 5e4]))
    wrong = verdict_on(far, lower_bound=lambda s: s.objective * (1.0 + 1e-6), objective=lambda s: s.objective * 1.1)
    assert wrong.kind in ("bound", "optimal")


@pytest.mark.parametrize("name", SETS)
def test_worst_margins_are_the_least_over_members(name):
    """Members made by mpmath from the definition of each set: none is below the worst margin, one comes near."""
    with mp.workdps(40):
        rng = np.random.default_rng(3)
        space, rho = rng.normal(size=(1, 2)), 0.3
        shape = rng.normal(size=(2, 2)) if name == "Ellipsoid" else None
        case = Case("one", space, np.ones(1), (1.0,), noise=Noise(name, rho, shape))
        w = np.array([0.2, 1.1, -0.7])
        exact, (normal, q) = ExactProblem(case, 1.0), exact_normal(w, None)
        (worst,) = exact.margins(normal, q)

        def exponential(v):
            r = mp.sqrt(v[0] ** 2 + v[1] ** 2)
            return [mp.cosh(r), mp.sinh(r) * v[0] / r, mp.sinh(r) * v[1] / r]

        def product(x):
            return x[0] * w[0] - x[1] * w[1] - x[2] * w[2]

        sinh = mp.sqrt(sum(mp.mpf(float(v)) ** 2 for v in space[0]))
        log = [mp.asinh(sinh) * mp.mpf(float(v)) / sinh for v in space[0]]
        steps = []
        for angle in np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False):
            u = np.array([np.cos(angle), np.sin(angle)])
            size = {"Box": np.abs(u).max(), "CrossPolytope": np.abs(u).sum()}.get(name, 1.0)
            u = u / size
            steps.append((shape @ u if shape is not None else u) * rho)
        margins = []
        for z in steps:
            if name == "GeodesicBall":  # move the origin's circle of radius rho to the point
                x = exponential(log)
                along = [mp.sinh(rho) * z[j] / rho for j in range(2)]
                inner = x[1] * along[0] + x[2] * along[1]
                factor = mp.cosh(rho) + inner / (1 + x[0])
                member = [x[0] * mp.cosh(rho) + inner, *(along[j] + x[1 + j] * factor for j in range(2))]
                margins.append(product(member))
            else:
                ahead, behind = ([log[j] + s * mp.mpf("1e-15") * z[j] for j in range(2)] for s in (1, -1))
                slope = (product(exponential(ahead)) - product(exponential(behind))) / mp.mpf("2e-15")
                margins.append(product(exponential(log)) + slope)
        least = float(min(margins))
        assert float(worst.lower()) <= least + 1e-12
        assert float(worst.upper()) >= least - 1e-3


def test_the_separator_question_is_decided():
    assert ExactProblem(APART, np.inf).has_separator([])
    assert not ExactProblem(
        replace(OVERLAP, space=np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])), np.inf
    ).has_separator([])
    far = replace(APART, space=np.array([[23879119.38], [24958597.143], [26086873.7]]), y=np.array([1.0, -1, -1]))
    assert ExactProblem(far, np.inf).has_separator([])  # at 60 digits; in doubles these points coincide with the cone


def test_what_is_found_is_made_small_and_told():
    """The falsehood of a judge who dislikes one point, among six with weights."""
    rng = np.random.default_rng(0)
    case = Case("big", rng.normal(size=(6, 2)), np.ones(6), (1.7320508,), weight=rng.exponential(size=6))
    disliked = Complaint("bound", "it is not liked")
    small, wrong = shrunk(case, disliked, lambda c: disliked if np.any(c.space[:, 0] > 0.6) else None)
    assert len(small.y) == 1
    assert small.weight is None
    assert small.C == (2.0,)
    code = script(small, wrong)
    assert "it is not liked" in code
    exec(compile(code, "found.py", "exec"), {})


def test_values_are_enclosed():
    problem = ExactProblem(OVERLAP, 2.0)
    w = [arb(v) for v in (0.1, 0.5, -0.3)]
    x = np.column_stack([np.sqrt(1 + (OVERLAP.space**2).sum(axis=1)), OVERLAP.space])
    m = OVERLAP.y * (x @ [0.1, -0.5, 0.3])
    expected = 0.5 * (0.25 + 0.09 - 0.01) + 2.0 * np.maximum(0, 1 - m).sum() / np.sqrt(2)
    assert float(problem.objective(w, form(w)).mid()) == pytest.approx(expected, rel=1e-14)
    assert judge_case(OVERLAP, Counter()) is None
