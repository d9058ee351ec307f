"""The answer in a certificate file: its objective is recomputed from file and data, and forged ones are refused.

The judge is the definition in plain NumPy, with worst points of uncertainty sets found by trying them.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from certificates.mutants import KINDS, SETS, plain, solved
from hypermargin import Box, Certificate, GeodesicBall, MarginProblem, Status, solve
from hypermargin.certificates import CertificateError
from hypermargin.check import main
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.executors import InMemory
from hypermargin.solvers.refine import refine_solution
from reference.instances import make_instance
from reference.objective import lift, signed_rows

ANSWERED = [kind for kind in KINDS if not kind.startswith("overlap")]
CIRCLE = np.stack([np.cos(angles := np.linspace(0.0, 2.0 * np.pi, 4001)), np.sin(angles)], axis=1)


def exp_origin(v):
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return lift(np.where(length > 0.0, np.sinh(length) / np.where(length > 0.0, length, 1.0), 1.0) * v)


def members(x, noise):
    """Points of the set around x among which the worst one is, nearly; d = 2."""
    space = np.linalg.norm(x[1:])
    v = x[1:] * np.arcsinh(space) / space
    if type(noise).__name__ == "GeodesicBall":
        # The circle around the origin, moved by the boost that takes the origin to x.
        circle = exp_origin(noise.rho * CIRCLE)
        along = circle[:, 1:] @ x[1:]
        moved = circle[:, 1:] + np.outer(circle[:, 0] + along / (1.0 + x[0]), x[1:])
        return np.column_stack([x[0] * circle[:, 0] + along, moved])
    steps = {
        "Box": np.array([[a, b] for a in (-1, 1) for b in (-1, 1)]),
        "CrossPolytope": np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]),
        "Ellipsoid": CIRCLE @ np.asarray(getattr(noise, "shape", np.eye(2))).T,
    }.get(type(noise).__name__, CIRCLE)
    h = 1e-5  # the Jacobian of exp_0 at v, by differences
    J = np.stack([(exp_origin(v + h * e) - exp_origin(v - h * e)) / (2.0 * h) for e in np.eye(2)], axis=1)
    return x + noise.rho * steps @ J.T


def by_hand(kind, problem, solution):
    if kind not in ("plain", "timelike", "asinh", "moment", "curve", "hard", *SETS, "hard GeodesicBall"):  # a kernel
        beta = solution.certificate.beta
        X = lift(problem.space)
        scores = problem.kernel(X, X) @ beta
        hinges = np.maximum(0.0, 1.0 - problem.y * (scores + solution.certificate.intercept))
        return 0.5 * beta @ scores + problem.costs @ hinges
    w, X, y = solution.w, problem.X, problem.y
    margins = signed_rows(X, y) @ w + y * solution.intercept
    if getattr(problem, "uncertainty", None) is not None:
        margins = [
            signed_rows(m := members(x, problem.uncertainty), np.full(len(m), s)) @ w for x, s in zip(X, y, strict=True)
        ]
        margins = np.array([own.min() for own in margins])
    square = w[1:] @ w[1:] - w[0] ** 2
    if kind == "curve":
        centre = lift(problem.centre)
        square += 2.0 * (centre[0] * w[0] - centre[1:] @ w[1:]) ** 2
    if math.isinf(problem.C):
        return 0.5 * square if margins.min() >= 1.0 - 1e-6 else math.inf
    costs = problem.C * (np.ones(len(y)) if (own := getattr(problem, "margin", problem).sample_weight) is None else own)
    loss = np.arcsinh(1.0) - np.arcsinh(margins) if kind == "asinh" else (1.0 - margins) / np.sqrt(2.0)
    return 0.5 * max(square, 0.0) + costs @ np.maximum(0.0, loss)


@pytest.mark.parametrize("kind", ANSWERED)
@pytest.mark.parametrize("seed", range(3))
def test_the_objective_is_recomputed_from_the_file_and_the_data(kind, seed):
    problem, solution = solved(kind, seed)
    if not math.isfinite(solution.objective):
        return
    certificate = Certificate.from_dict(plain(solution.certificate))
    expected = by_hand(kind, problem, solution)
    for by_arb in (False, True):
        found = certificate.objective_for(problem, by_arb=by_arb)
        assert found == pytest.approx(expected, rel=1e-5 if " " in kind or kind in SETS else 1e-10)
        assert found >= certificate.verify(problem, by_arb=by_arb)


@pytest.mark.parametrize("kind", ANSWERED)
def test_an_answer_that_is_worse_than_stated_is_refused(kind):
    problem, solution = solved(kind, 2)
    natural = plain(solution.certificate)
    forged = {**natural, "statement": {**natural["statement"], "objective": (1.0 - 1e-5) * solution.lower_bound}}
    stated = dict(forged["statement"], bound=None)
    for by_arb in (False, True):
        with pytest.raises(CertificateError, match="states the objective"):
            Certificate.from_dict(forged | {"statement": stated}).verify(problem, by_arb=by_arb)
    if "answer" not in natural:
        return
    moved = [1.02 * v for v in natural["answer"]["w"]]
    for w, said in (
        (moved, "its answer has"),
        ([*moved, 0.0], "not for dimension"),
        ([math.nan] * len(moved), "finite"),
    ):
        for by_arb in (False, True):
            with pytest.raises(CertificateError, match=said):
                Certificate.from_dict({**natural, "answer": {"w": w}}).verify(problem, by_arb=by_arb)
    for damaged in (3, [], {}, {"w": "1"}, {"w": [[1.0]]}):
        with pytest.raises(CertificateError):
            Certificate.from_dict({**natural, "answer": damaged})
    old = {key: value for key, value in natural.items() if key != "answer"}
    assert Certificate.from_dict(old).objective_for(problem) is None
    assert Certificate.from_dict(old).verify(problem) == solution.lower_bound


def test_a_timelike_answer_counts_only_where_it_is_allowed():
    problem, solution = solved("plain", 0)
    timelike = {**plain(solution.certificate), "answer": {"w": [1.0, 0.0, np.nextafter(1.0, 0.0)]}}
    for by_arb in (False, True):
        assert Certificate.from_dict(timelike).objective_for(problem, by_arb=by_arb) == math.inf
        assert Certificate.from_dict(timelike).objective_for(problem.with_timelike(True), by_arb=by_arb) < math.inf
    lightlike = {**timelike, "answer": {"w": [1.0, 0.0, np.nextafter(1.0, 0.0)], "w_low": [0.0, 0.0, 2.0**-53]}}
    assert Certificate.from_dict(lightlike).objective_for(problem, by_arb=True) < math.inf


def test_far_out_the_digits_of_both_vectors_are_kept():
    instance = make_instance("overlap", d=2, n=20, C=1.0, seed=3)
    time, stretch = np.cosh(14.0), np.sinh(14.0)
    X = instance.X @ np.array([[time, stretch, 0.0], [stretch, time, 0.0], [0.0, 0.0, 1.0]])
    problem = MarginProblem(lift(X[:, 1:]), instance.y)
    solution = solve(problem)
    assert solution.w_low is not None
    certificate = Certificate.from_dict(json.loads(json.dumps(solution.certificate.to_dict())))
    for by_arb in (False, True):
        assert certificate.objective_for(problem, by_arb=by_arb) == pytest.approx(solution.objective, rel=1e-9)
    refined = refine_solution(problem, solution)
    assert refined.certificate.objective_for(problem) == pytest.approx(refined.objective, rel=1e-12)


def test_samples_in_blocks_have_the_objective_of_those_in_memory():
    instance = make_instance("weighted", d=2, n=40, C=1.0, seed=2)
    whole = MarginProblem(instance.X, instance.y, 1.0, instance.weight)
    rows = slice(25), slice(25, 40)
    parts = [MarginProblem(instance.X[own], instance.y[own], 1.0, instance.weight[own]) for own in rows]
    solution, blocks = solve(whole), BlockedProblem(InMemory(parts), 1.0)
    assert solution.certificate.objective_for(blocks) == pytest.approx(solution.objective, rel=1e-14)


def test_the_reference_checker_prints_objective_and_gap(tmp_path, capsys):
    problem, solution = solved("plain", 0)
    proof, table = tmp_path / "proof.json", tmp_path / "points.csv"
    rows = [",".join(map(repr, [*x, y])) for x, y in zip(problem.X.tolist(), problem.y.tolist(), strict=True)]
    table.write_text("\n".join(rows) + "\n")
    natural = plain(solution.certificate)
    forged = {**natural, "answer": {"w": [1.1 * v for v in natural["answer"]["w"]]}}
    old = {key: value for key, value in natural.items() if key != "answer"}
    for content, code, said in ((natural, 0, "gap  "), (forged, 1, "more than it states"), (old, 0, "holds no answer")):
        proof.write_text(json.dumps(content))
        assert main([str(proof), str(table)]) == code
        out = capsys.readouterr().out
        assert said in out
        if content is natural:
            numbers = dict(line.split()[:2] for line in out.splitlines()[1:])
            assert float(numbers["objective"]) == pytest.approx(solution.objective, rel=1e-12)
            assert float(numbers["gap"]) == pytest.approx(solution.gap, abs=1e-9)


@pytest.mark.parametrize("noise", [None, GeodesicBall(0.1), Box(0.05)], ids=str)
def test_answers_far_out_with_weights_of_wide_range_are_enclosed_as_sharply_as_when_they_were_found(noise):
    judged = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, r = int(rng.integers(3, 12)), rng.uniform(3.0, 12.0)
        x, y = lift(0.3 * rng.normal(size=(n, 2))), np.where(rng.random(n) < 0.5, 1.0, -1.0)
        far = lift(np.column_stack([np.sinh(r) * x[:, 0] + np.cosh(r) * x[:, 1], x[:, 2]]))
        y[:2] = 1.0, -1.0
        problem = MarginProblem(far, y, 1.0, 10.0 ** rng.uniform(-8, 8, size=n), noise)
        solution = solve(problem)
        if solution.status.is_proved:
            judged += 1
            assert solution.certificate.verify(problem) > 0.0  # raises where the answer has more than is stated
            assert solution.certificate.objective_for(problem) == pytest.approx(solution.objective, rel=1e-9)
    assert judged > 10


#: Found by the tester (`make fuzz`): doubles leave open what is true.
LEFT_OPEN = {
    "one class and a hard margin, with a lightlike answer": MarginProblem(
        lift(
            [
                [-83.97271524, -1190.106804, 272.5374394],
                [3324427.56, -184804.558, 2675433.37],
                [-32.99954118, -49.98493121, 67.97675643],
            ]
        ),
        [-1.0, -1.0, -1.0],
        math.inf,
    ),
    "opposite points of one class far out, in balls": MarginProblem(
        lift([[5668037.73647939], [-5668037.73647939]]), [1.0, 1.0], 0.0175, uncertainty=GeodesicBall(8.4e-4)
    ),
}


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_where_doubles_leave_it_open_the_reference_decides_and_a_true_certificate_holds(name):
    problem = LEFT_OPEN[name]
    solution = solve(problem, "exact")
    assert solution.status is Status.OPTIMAL
    assert solution.objective == 0.0
    assert solution.certificate.verify(problem) == 0.0
    forged = replace(solution.certificate, statement=replace(solution.certificate.statement, bound=1e-3))
    with pytest.raises(CertificateError, match=r"states the lower bound 0\.001"):
        forged.verify(problem)


@pytest.mark.parametrize("kind", ["plain", "GeodesicBall", "Box", "hard"])
def test_a_frame_of_another_dimension_is_refused_before_compiled_code_sees_it(kind):
    """Compiled loops look up no lengths: a centre that is too short made them write beyond their rows."""
    problem, solution = solved(kind, 2)
    natural = replace(solution.certificate, statement=None)
    for centre in (np.zeros(0), np.zeros(1), np.zeros(5), np.zeros(500), np.zeros((2, 1))):
        damaged = (
            replace(natural, centre=centre)
            if kind != "hard"
            else replace(natural, soft=replace(natural.soft, centre=centre))
        )
        for check in (damaged.objective_for, damaged.bound_for, damaged.verify):
            with pytest.raises(CertificateError, match="not for dimension 2"):
                check(problem)
