"""The same problem in several homes: the same passes, the same bounds, and certificates that hold in all of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy.optimize import linprog

from hypermargin import GeodesicBall, MarginProblem, Status, solve, solve_path
from hypermargin.certificates import CertificateError
from hypermargin.certificates.core.objective import enclose_objective
from hypermargin.certificates.core.sums import cut_sums
from hypermargin.data import device
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.device import DeviceSamples
from hypermargin.data.executors import InMemory, OutOfCore
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry.isometries import random_isometry, transform_points
from hypermargin.geometry.lorentz import quadratic_form
from hypermargin.passes import Home, SpreadProblem
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.runs import make_oracle

C = 2.0


def samples(dim: int = 2, weighted: bool = False):
    X, y = make_gaussian_mixture(150, 2, dim=dim, scale=0.9, random_state=dim, return_X_y=True)
    X = transform_points(X, random_isometry(dim, 1.5, np.random.default_rng(1)))
    order = np.random.default_rng(2).permutation(len(y))
    weight = np.random.default_rng(3).uniform(0.2, 3.0, len(y)) if weighted else None
    return X[order], 2.0 * y[order] - 1.0, weight


def pieces(X, y, weight, ball) -> list[MarginProblem]:
    """Unequal ones, one of a single class and one without samples."""
    positive = np.flatnonzero(y > 0)[:20]
    rest = np.setdiff1d(np.arange(len(y)), positive)
    parts = [positive, rest[:0], rest[:7], rest[7:100], rest[100:]]
    return [MarginProblem.unchecked(X[k], y[k], 1.0, None if weight is None else weight[k], ball) for k in parts]


def on_device(library, X, y, weight, ball) -> DeviceSamples:
    """With samples that sit out, which must make no difference."""
    X = np.concatenate([X, X[:9]])
    side = np.concatenate([y, np.zeros(9)]).astype(np.int8)
    weight = None if weight is None else np.concatenate([weight, np.full(9, 5.0)])
    convert = library.from_numpy if library.__name__ == "torch" else np.asarray
    space = convert(X)[:, 1:]
    return DeviceSamples(space, convert(side), 1.0, None if weight is None else convert(weight), ball)


def homes(X, y, weight, ball) -> dict[str, InMemory | OutOfCore]:
    parts = pieces(X, y, weight, ball)
    found = {
        "resident": InMemory(parts),
        "streamed": OutOfCore(parts),
        "array API": InMemory([on_device(np, X, y, weight, ball)]),
    }
    try:
        import torch
    except ImportError:
        return found
    return {**found, "torch": InMemory([on_device(torch, X, y, weight, ball)])}


CASES = {
    "plain": (2, False, None),
    "weights": (3, True, None),
    "ball": (2, False, GeodesicBall(0.15)),
    "ball and weights": (2, True, GeodesicBall(0.15)),
    "many dimensions": (7, False, None),
}


@pytest.fixture(params=CASES)
def case(request):
    dim, weighted, ball = CASES[request.param]
    X, y, weight = samples(dim, weighted)
    problem = MarginProblem(X, y, C, weight, ball)
    return problem, {name: BlockedProblem(home, C, ball) for name, home in homes(X, y, weight, ball).items()}


def test_risk_and_cut_are_those_of_the_problem(case):
    """Against the problem's own risk and subgradient, and for several w in one pass."""
    problem, spread = case
    rng = np.random.default_rng(0)
    frame = Frame(problem.centre)
    W = rng.normal(size=(5, problem.dim + 1)) / 3.0
    W[0], W[1] = 0.0, np.eye(problem.dim + 1)[0]
    in_memory = make_oracle(problem, frame)
    for name, other in spread.items():
        oracle = make_oracle(other, frame)
        several = [oracle._times_factor(*cut) for cut in oracle.cuts(W)]
        for w, (risk, b, g) in zip(W, several, strict=True):
            outside, _ = oracle.to_original(w)
            np.testing.assert_allclose(risk, in_memory(w)[0], rtol=1e-8, err_msg=name)
            if quadratic_form(w) >= 0.0 or problem.uncertainty is None:
                np.testing.assert_allclose(risk, problem.risk(outside), rtol=1e-8, err_msg=name)
            assert b + g @ w == pytest.approx(risk, rel=1e-8) or np.array_equal(np.abs(w), W[1])
            one = oracle(w)
            np.testing.assert_allclose([one[0], one[1], *one[2]], [risk, b, *g], rtol=1e-12, atol=1e-12)
            for v in rng.normal(size=(5, problem.dim + 1)):  # a cut is below the risk of all spacelike normals
                v[0] = np.clip(v[0], -np.linalg.norm(v[1:]), np.linalg.norm(v[1:]))
                assert b + g @ v <= problem.risk(oracle.to_original(v)[0]) * (1.0 + 1e-9) + 1e-9


def test_solutions_agree_and_certificates_hold_in_every_home(case):
    problem, spread = case
    reference = solve(problem)
    assert reference.status is Status.OPTIMAL
    for name, other in spread.items():
        solution = solve(other)
        assert solution.status is Status.OPTIMAL, name
        assert solution.objective == pytest.approx(reference.objective, rel=1e-8)
        assert solution.lower_bound == pytest.approx(reference.lower_bound, rel=1e-8)
        assert reference.certificate.verify(other) == pytest.approx(reference.lower_bound, rel=1e-9)
        assert solution.certificate.verify(problem) == pytest.approx(solution.lower_bound, rel=1e-9)
        assert solution.certificate.statement.points == reference.certificate.statement.points


def test_enclosures_of_all_homes_hold_the_sums_in_rational_arithmetic():
    """Totals within their errors of the exact sums, computed with fractions; errors that are small, too."""
    X, y, weight = samples(2, True)
    problem = MarginProblem(X, y, C, weight)
    proof = solve(problem).certificate
    for name, home in homes(X, y, weight, None).items():
        sums = cut_sums(proof, BlockedProblem(home, C))
        exact_costs = [Fraction(float(c)) for c in problem.costs]
        near = cut_sums(proof, problem)
        assert np.all(np.abs(sums.totals - near.totals) <= sums.errors + near.errors), name
        chosen = problem.covectors_around(problem.centre)
        for j, point in enumerate(proof.points):
            taken = np.flatnonzero(chosen @ point < proof.threshold)
            total = sum((exact_costs[i] for i in taken), Fraction(0))
            assert abs(Fraction(float(sums.totals[j, 0])) - total) <= Fraction(float(sums.errors[j, 0])), name
        assert np.all(sums.errors <= 1e-11 * np.abs(sums.totals).max()), name


def test_objectives_are_enclosed_in_every_home():
    X, y, weight = samples(2, True)
    problem = MarginProblem(X, y, C, weight)
    w, centre = np.array([0.2, 0.9, -0.4]), problem.centre[1:]
    truth = problem.objective(w)
    for name, home in homes(X, y, weight, None).items():
        enclosure = enclose_objective(BlockedProblem(home, C), w, None, centre)
        assert enclosure.lower <= truth <= enclosure.upper, name
        assert enclosure.upper - enclosure.lower <= 1e-10 * truth


def test_far_data_is_proved_in_every_home():
    """So far out that doubles do not do: devices hand over to double-double arithmetic on the host."""
    X, y, _ = samples(2)
    X = transform_points(X, random_isometry(2, 9.0, np.random.default_rng(5)))
    reference = solve(MarginProblem(X, y, C))
    for name, home in homes(X, y, None, None).items():
        solution = solve(BlockedProblem(home, C))
        assert solution.status is Status.OPTIMAL, name
        assert solution.objective == pytest.approx(reference.objective, rel=1e-6)


def test_a_path_over_C_carries_its_cuts():
    X, y, _ = samples(2)
    problem = BlockedProblem(InMemory(pieces(X, y, None, None)), 1.0)
    path = solve_path(problem, [0.1, 1.0, 10.0])
    for solution, C_ in zip(path, (0.1, 1.0, 10.0), strict=True):
        assert solution.objective == pytest.approx(solve(MarginProblem(X, y, C_)).objective, rel=1e-8)
    assert path[2].n_iter < solve(problem.with_C(10.0)).n_iter


def test_the_least_risk_of_a_spread_problem_is_that_of_a_linear_program():
    """Allowed to be timelike and with a large C, the optimum is that of the risk: HiGHS knows it."""
    X, y, _ = samples(2)
    Z = MarginProblem(X, y).signed_covectors
    n = len(y)
    program = linprog(
        np.concatenate([np.zeros(6), np.full(n, 0.5**0.5)]),
        A_ub=np.hstack([-Z, Z, -np.eye(n)]),
        b_ub=-np.ones(n),
    )
    solution = solve(BlockedProblem(InMemory(pieces(X, y, None, None)), 1e6), allow_timelike=True)
    assert solution.objective / 1e6 == pytest.approx(program.fun, rel=1e-4)


def test_methods_that_read_samples_say_so():
    X, y, _ = samples(2)
    problem = BlockedProblem(InMemory(pieces(X, y, None, None)), C)
    with pytest.raises(TypeError, match="use solver='exact'"):
        solve(problem, "euclidean")
    with pytest.raises(ValueError, match="hard margin"):
        BlockedProblem(problem.source, np.inf)
    with pytest.raises(ValueError, match="both classes"):
        BlockedProblem(InMemory(pieces(X, np.ones_like(y), None, None)))
    with pytest.raises(ValueError, match="every piece is empty"):
        BlockedProblem(InMemory([MarginProblem.unchecked(X[:0], y[:0], 1.0)]))


def test_certificates_with_weights_of_samples_need_samples_in_memory():
    X, y, _ = samples(2)
    certificate = solve(MarginProblem(X, y, C)).certificate
    explicit = replace(certificate, duals=np.zeros((1, len(y))))
    with pytest.raises(CertificateError, match="in memory"):
        explicit.bound_for(BlockedProblem(InMemory(pieces(X, y, None, None)), C))


def test_a_full_device_says_what_was_needed_and_offers_chunks():
    def question(piece):
        raise RuntimeError("CUDA out of memory. Tried to allocate 48.00 GiB.\nmore")

    with pytest.raises(MemoryError, match=r"48\.00 GiB.*chunks"):
        InMemory([1]).map_blocks(question)


def test_blocks_of_a_device_add_up(monkeypatch):
    """The same answers with blocks of a few rows."""
    X, y, weight = samples(3, True)
    problem = MarginProblem(X, y, C, weight)
    monkeypatch.setattr(device, "HOST_NUMBERS", 64)
    piece = on_device(np, X, y, weight, None)
    assert array_namespace(piece.space) is piece.xp
    assert solve(BlockedProblem(InMemory([piece]), C)).objective == pytest.approx(solve(problem).objective, rel=1e-8)


class Written(Home):
    """A home as version 0.1 asked for one: `ask` and `map`."""

    def __init__(self, pieces):
        self.pieces = pieces

    def ask(self, question, *arguments):
        return [question(piece, *arguments) for piece in self.pieces]

    def map(self, change, *arguments):
        return Written(self.ask(change, *arguments))


def test_names_of_version_0_1_work_and_say_where_rows_are_missing():
    X, y, _ = samples(2)
    problem = SpreadProblem(Written(pieces(X, y, None, None)), C)
    assert solve(problem).objective == pytest.approx(solve(MarginProblem(X, y, C)).objective, rel=1e-8)
    assert sum(problem.ask(lambda piece: piece.n_samples)) == len(y)
    for read in (lambda: problem.X, lambda: problem.margins(np.ones(3)), lambda: problem.costs):
        with pytest.raises(TypeError, match="in pieces elsewhere"):
            read()
    for options in ({"method": "pgd"}, {"loss": "asinh"}, {"refine": True}):
        with pytest.raises(TypeError, match="in pieces elsewhere"):
            solve(problem, **options)
