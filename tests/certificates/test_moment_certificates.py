"""Sums of squares and a ball: what they prove is true by enumeration, and damage never makes them prove more."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from file_damage import damaged_value
from hypermargin import MarginProblem, solve
from hypermargin.certificates import Certificate, CertificateError, MomentCertificate
from hypermargin.certificates.moment import Extent, Group, Squares
from hypermargin.problems import GeodesicBall
from hypermargin.solvers import Status
from reference.brute import brute_force
from reference.instances import make_instance

FAMILIES = ("overlap", "separable", "weighted", "surrounded", "duplicates")


def least_value(problem):
    """The optimum by enumeration, an upper bound whatever happens."""
    return float(brute_force(problem.X[None], problem.y[None], problem.costs[None])[0][0])


def small_problem(family, C=1.0):
    instance = make_instance(family, d=2, n=6, C=1.0, seed=1)
    return MarginProblem(instance.X, instance.y, C, sample_weight=instance.weight)


@pytest.fixture(scope="module")
def solved():
    problem = small_problem("overlap")
    return problem, solve(problem, "moment")


@pytest.mark.parametrize(("family", "C"), [*((family, 1.0) for family in FAMILIES), ("separable", np.inf)])
def test_squares_prove_what_enumeration_finds(family, C):
    problem = small_problem(family, C)
    solution, best = solve(problem, "moment"), least_value(problem)
    assert isinstance(solution.certificate, MomentCertificate)
    bound = solution.certificate.verify(problem)
    assert bound == solution.lower_bound
    assert bound <= best
    if family != "surrounded":  # there the relaxation of order 2 is not tight
        assert bound >= best * (1.0 - 1e-6)
        assert solution.status is Status.OPTIMAL


def test_dense_relaxations_are_proved_too():
    problem = small_problem("separable")
    problem = MarginProblem(problem.X[:4], problem.y[:4] * [1, 1, 1, -1])
    solution = solve(problem, "moment", sparse=False, screen=False, max_block=100)
    assert isinstance(solution.certificate, MomentCertificate)
    assert len(solution.certificate.groups) == 1
    assert 0.0 < solution.lower_bound <= least_value(problem)


def test_a_file_proves_the_same(solved, tmp_path):
    problem, solution = solved
    solution.certificate.save(tmp_path / "proof.json")
    loaded = Certificate.load(tmp_path / "proof.json")
    assert type(loaded) is MomentCertificate
    assert loaded.to_dict() == solution.certificate.to_dict()
    assert loaded.verify(problem) == solution.lower_bound


def test_data_far_from_the_origin_is_proved_where_it_lies(solved):
    problem, solution = solved
    boost = np.array([[np.cosh(4.0), 0.0, np.sinh(4.0)], [0.0, 1.0, 0.0], [np.sinh(4.0), 0.0, np.cosh(4.0)]])
    moved = MarginProblem(problem.X @ boost.T, problem.y)
    again = solve(moved, "moment")
    assert isinstance(again.certificate, MomentCertificate)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-6)


def changed(certificate, **changes):
    return replace(certificate, statement=None, **changes)


def with_groups(certificate, change):
    return changed(certificate, groups=tuple(change(group) for group in certificate.groups))


def test_each_part_of_the_proof_is_needed(solved):
    problem, solution = solved
    proof = solution.certificate
    refused = {
        "too small": changed(
            proof,
            basis=0.5 * proof.basis,
            extents=tuple(replace(e, price=2.0 * e.price, weights=2.0 * e.weights) for e in proof.extents),
        ),
        "not bounded": changed(proof, extents=proof.extents[:-1]),
        "out of range": changed(proof, extents=tuple(replace(e, price=0.9 * e.price) for e in proof.extents)),
        "bound nothing": changed(proof, extents=tuple(replace(e, half=-e.half) for e in proof.extents)),
        "scale of a slack": with_groups(
            proof, lambda g: replace(g, slack_scales=tuple(0.1 * size for size in g.slack_scales))
        ),
        "singular": changed(proof, basis=np.zeros_like(proof.basis)),
        "does not fit": with_groups(proof, lambda g: replace(g, samples=proof.groups[0].samples)),
        "not finite": changed(proof, level=np.inf),
    }
    for message, damaged in refused.items():
        with pytest.raises(CertificateError, match=message):
            damaged.verify(problem)
    for factor in (0.5, 0.999, 1.001, 2.0):  # squares that do not add up are charged for what they miss
        scaled = with_groups(
            proof, lambda g, f=factor: replace(g, squares=tuple(replace(s, factor=f * s.factor) for s in g.squares))
        )
        assert scaled.verify(problem) < solution.lower_bound
    assert changed(proof, level=0.5 * proof.level).verify(problem) == 0.5 * proof.level
    for other in (
        MarginProblem(problem.X, problem.y, uncertainty=GeodesicBall(0.1)),
        MarginProblem(problem.X, problem.y, allow_timelike=True),
    ):
        with pytest.raises(CertificateError, match="nominal margins"):
            proof.bound_for(other)


def test_nothing_shows_that_no_boundary_exists(solved):
    """Were both halves of space empty, a tiny ball anywhere would do, and the tangent of the risk there be a bound."""
    problem, solution = solved
    n, far = problem.n_samples, np.array([0.0, 50.0, 0.0])
    missed = tuple(np.flatnonzero(problem.margins(far) < 1.0).tolist())
    for price, weights in ((-1.0, np.zeros(n)), (0.0, np.zeros(n)), (1.0, np.zeros(n)), (-1.0, np.full(n, 1e-9))):
        forged = changed(
            solution.certificate,
            level=1e6,
            scale=1.0,
            centre=far,
            basis=1e-9 * np.eye(3),
            extents=tuple(Extent(half, 0, 0, price, weights) for half in (-1, 1)),
            groups=(),
            linear=missed,
        )
        with pytest.raises(CertificateError):
            forged.bound_for(problem)


@pytest.mark.parametrize(
    "change",
    [
        {"sign": 2},
        {"half": 0},
        {"coordinate": 3},
        {"coordinate": -1},
        {"price": -1.0},
        {"price": np.nan},
        {"price": np.inf},
        {"weights": np.zeros(0)},
        {"weights": np.full(6, np.nan)},
        {"weights": np.full(6, -1.0)},
    ],
)
def test_every_field_of_an_extent_is_checked(solved, change):
    problem, solution = solved
    extents = solution.certificate.extents
    with pytest.raises(CertificateError):
        changed(solution.certificate, extents=(*extents, replace(extents[0], **change))).verify(problem)


def test_a_small_file_cannot_ask_for_much_memory():
    """All pairs of monomials are held in memory, and rows of a factor can be nearly empty."""
    instance = make_instance("overlap", d=2, n=58, C=1.0, seed=1)
    problem = MarginProblem(instance.X, instance.y)
    proof = solve(problem, "moment").certificate
    rows = Group(tuple((i,) for i in range(58)), (1e3,) * 58, (Squares("one", 0, np.zeros((1953, 1))),))
    columns = Group(((0,),), (1e3,), (Squares("one", 0, np.zeros((15, 10**4))),))
    for group in (rows, columns):
        tracemalloc.start()
        try:
            with pytest.raises(CertificateError, match="monomials are not checked"):
                changed(proof, groups=(group,), linear=()).bound_for(problem)
            assert tracemalloc.get_traced_memory()[1] < 2**24  # a few lists of the numbers that the file itself holds
        finally:
            tracemalloc.stop()


def test_damage_never_proves_more_than_is_true(solved):
    problem, solution = solved
    plain, best = solution.certificate.to_dict(), least_value(problem)
    del plain["statement"]
    proved = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        damaged = damaged_value(plain, rng) if seed % 2 else shaken(plain, rng, 10.0 ** rng.uniform(-14, -1))
        try:
            bound = Certificate.from_dict(json.loads(json.dumps(damaged))).bound_for(problem)
        except CertificateError:
            continue
        assert bound <= best
        proved += bound > 0.5 * best
    assert proved > 8


def shaken(value, rng, size):
    """All numbers of a JSON value but integers times ``1 + size`` times a random number."""
    if isinstance(value, dict):
        return {key: shaken(item, rng, size) for key, item in value.items()}
    if isinstance(value, list):
        return [shaken(item, rng, size) for item in value]
    return value * (1.0 + size * rng.normal()) if isinstance(value, float) else value


def test_bounds_without_a_check_are_not_called_proved():
    problem = small_problem("overlap")
    assert solve(problem, "moment", verify=False).status is not Status.OPTIMAL
    robust = MarginProblem(problem.X, problem.y, uncertainty=GeodesicBall(0.05))
    for method in ("sdp", "moment"):
        solution = solve(robust, method)
        assert solution.certificate is None
        assert not solution.is_proved
    cubic = solve(problem, "moment", loss="taylor3")
    assert cubic.certificate is None
    assert not cubic.is_proved
