"""What certificates state: the problem they are about, told from every other one; and nothing more than they prove."""

import json
import struct
from dataclasses import fields, replace

import numpy as np
import pytest

from hypermargin import Ellipsoid, GeodesicBall, MarginProblem, __version__, solve, solve_path
from hypermargin.certificates import (
    Certificate,
    CertificateError,
    HardMarginCertificate,
    OverlapCertificate,
    RobustOverlapCertificate,
    SoftMarginCertificate,
    Statement,
)
from reference.instances import make_instance

SEPARABLE, OVERLAPPING = (make_instance(family, d=2, n=16, C=1.0, seed=3) for family in ("separable", "overlap"))
WEIGHT = np.linspace(0.5, 2.0, 16)
PROBLEMS = {
    SoftMarginCertificate: MarginProblem(OVERLAPPING.X, OVERLAPPING.y, sample_weight=WEIGHT),
    HardMarginCertificate: MarginProblem(SEPARABLE.X, SEPARABLE.y, C=np.inf),
    OverlapCertificate: MarginProblem(OVERLAPPING.X, OVERLAPPING.y, C=np.inf),
    RobustOverlapCertificate: MarginProblem(SEPARABLE.X, SEPARABLE.y, C=np.inf, uncertainty=GeodesicBall(3.0)),
}


@pytest.fixture(scope="module")
def solutions():
    found = {kind: solve(problem) for kind, problem in PROBLEMS.items()}
    assert all(type(solution.certificate) is kind for kind, solution in found.items())
    return found


def moved(problem):
    """One point a little further out, by the last digit of one coordinate."""
    X = np.array(problem.X)
    X[3, 1] = np.nextafter(X[3, 1], np.inf)
    return replace(problem, X=X)


def relabelled(problem):
    y = np.array(problem.y)
    y[0] = -y[0]
    return replace(problem, y=y)


OTHERS = {
    "the points are others": moved,
    "the labels are others": relabelled,
    r"C is 3 here and (1|inf) there": lambda p: replace(p, C=3.0),
    "the sample weights are others": lambda p: replace(p, sample_weight=np.linspace(0.5, 2.5, 16)),
    r"the uncertainty set is GeodesicBall\(rho=0.25\) here and (None|GeodesicBall\(rho=3.0\)) there": lambda p: replace(
        p, uncertainty=GeodesicBall(0.25)
    ),
    "allow_timelike is True here and False there": lambda p: replace(p, allow_timelike=True),
    "about 16 points in dimension 2, this problem has 15 in dimension 2": lambda p: MarginProblem(
        p.X[1:], p.y[1:], C=p.C, uncertainty=p.uncertainty
    ),
}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("clause", OTHERS)
def test_another_problem_is_refused_and_told_apart(solutions, kind, clause):
    certificate, problem = solutions[kind].certificate, PROBLEMS[kind]
    with pytest.raises(CertificateError, match=f"about another problem: .*{clause}"):
        certificate.verify(OTHERS[clause](problem))
    assert not certificate.holds(OTHERS[clause](problem))


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_statement_is_that_of_the_solution(solutions, kind):
    solution, problem = solutions[kind], PROBLEMS[kind]
    stated = solution.certificate.statement
    assert (stated.n_samples, stated.dim, stated.C) == (16, 2, problem.C)
    assert (stated.loss, stated.allow_timelike, stated.version) == ("hinge", False, __version__)
    assert (stated.objective, stated.bound) == (solution.objective, solution.lower_bound)
    assert solution.certificate.verify(problem) == solution.lower_bound
    assert (stated.weights is None) == (problem.sample_weight is None)
    assert stated.points == fingerprint_by_hand(problem.X[:, 1:].tolist())


def fingerprint_by_hand(rows: list[list[float]]) -> str:
    """The sum over the points of a hash of their space parts, in integers of Python."""
    modulus, total = 2**64, 0
    for row in rows:
        value = 0x9E3779B97F4A7C15
        for number in row:
            word = int.from_bytes(struct.pack("<d", number + 0.0), "little")
            value = ((value ^ word) * 0x9E3779B97F4A7C15) % modulus
            value ^= value >> 32
        value = (value * 0xFF51AFD7ED558CCD) % modulus
        total += value ^ (value >> 29)
    return f"{total % modulus:016x}"


@pytest.mark.parametrize("kind", PROBLEMS)
def test_every_mutated_statement_is_refused(solutions, kind):
    """All fields of the file, one at a time; only who wrote it is nothing a check can tell."""
    problem, plain = PROBLEMS[kind], solutions[kind].certificate.to_dict()
    stated = solutions[kind].certificate.statement
    mutations = {
        "n_samples": 17,
        "dim": 3,
        "C": 2.5,
        "points": "0" * 16,
        "labels": "0" * 16,
        "weights": "0" * 16,
        "uncertainty": "Box(rho=3.0)",
        "allow_timelike": True,
        "model": "HeatKernel(t=1.0)",
        "loss": "asinh",
        "objective": 0.9 * solutions[kind].lower_bound if np.isfinite(stated.bound) else 1.0,
        "bound": 1.01 * stated.bound if np.isfinite(stated.bound) else None,
    }
    assert set(mutations) | {"version"} == {field.name for field in fields(Statement)}
    for name, value in mutations.items():
        mutated = Certificate.from_dict(
            json.loads(json.dumps({**plain, "statement": {**plain["statement"], name: value}}))
        )
        if name == "bound" and value is None:
            continue  # there is no more to claim than that nothing separates
        with pytest.raises(CertificateError, match=r"another problem|asinh loss|does not hold what it states"):
            mutated.verify(problem)
    for name in set(mutations) - {"model"}:  # files of old have no model: they are about hyperplanes
        broken = {key: value for key, value in plain["statement"].items() if key != name}
        with pytest.raises(CertificateError, match=f"damaged: its statement does not say {name}"):
            Certificate.from_dict({**plain, "statement": broken})


@pytest.mark.parametrize("kind", PROBLEMS)
def test_files_survive_strict_json(solutions, kind):
    """Infinite numbers are words in a file: JSON knows none, and other readers stop there."""

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    certificate = solutions[kind].certificate
    data = json.loads(json.dumps(certificate.to_dict()), parse_constant=refuse)
    assert Certificate.from_dict(data).statement == certificate.statement


@pytest.mark.parametrize("kind", PROBLEMS)
def test_files_of_old_are_silent_and_still_prove(solutions, kind, tmp_path):
    plain = solutions[kind].certificate.to_dict()
    del plain["statement"]
    (tmp_path / "old.json").write_text(json.dumps(plain), encoding="utf-8")
    old = Certificate.load(tmp_path / "old.json")
    assert old.statement is None
    assert old.verify(PROBLEMS[kind]) == solutions[kind].lower_bound
    assert "statement" not in old.to_dict()


def test_what_a_certificate_proves_for_another_problem_can_be_asked():
    """The cuts hold for every C; the bound for another one is true, and near where C is."""
    problem = MarginProblem(OVERLAPPING.X, OVERLAPPING.y)
    certificate = solve(problem).certificate
    for C in (0.5, 1.02, 4.0):
        best = solve(problem.with_C(C)).objective
        bound = certificate.bound_for(problem.with_C(C))
        assert bound <= best
        assert bound >= 0.9 * best or C != 1.02
        with pytest.raises(CertificateError, match="bound_for"):
            certificate.verify(problem.with_C(C))


def test_each_solution_of_a_path_states_its_own_C():
    problem = MarginProblem(OVERLAPPING.X, OVERLAPPING.y)
    Cs = [2.0, 0.5, np.inf]
    for C, solution in zip(Cs, solve_path(problem, Cs), strict=True):
        assert solution.certificate.statement.C == C
        assert solution.certificate.verify(problem.with_C(C)) == solution.lower_bound


def test_an_unchecked_bound_is_not_stated():
    problem = PROBLEMS[SoftMarginCertificate]
    trusted = solve(problem, verify=False)
    assert trusted.certificate.statement.bound is None
    assert trusted.certificate.verify(problem) <= trusted.objective


def test_refinement_restates_the_objective():
    problem = PROBLEMS[SoftMarginCertificate]
    plain, refined = (solve(problem, "sdp", refine=refine) for refine in (False, True))
    assert refined.objective < plain.objective
    assert refined.certificate.statement == replace(plain.certificate.statement, objective=refined.objective)
    assert refined.certificate.verify(problem) == refined.lower_bound


def test_equal_problems_have_equal_fingerprints():
    """However the numbers lie in memory, whichever sign zeros have, and with weights that change nothing."""
    X, y = np.array(OVERLAPPING.X), np.array(OVERLAPPING.y)
    X[0] = [1.0, 0.0, 0.0]
    certificate = solve(MarginProblem(X, y)).certificate
    negative = X.copy()
    negative[0] = [1.0, -0.0, 0.0]
    doubled = np.repeat(X, 2, axis=0)[::2]
    for same in (np.asfortranarray(X), negative, doubled):
        assert certificate.statement.differences(MarginProblem(same, y)) == []
    assert certificate.statement.differences(MarginProblem(X, y.astype(int), sample_weight=np.ones(16))) == []


def test_the_order_of_the_samples_does_not_matter_and_which_label_is_whose_does():
    X, y, order = np.array(OVERLAPPING.X), np.array(OVERLAPPING.y), np.random.default_rng(0).permutation(16)
    certificate = solve(MarginProblem(X, y, sample_weight=np.arange(1.0, 17.0))).certificate
    other = MarginProblem(X[order], y[order], sample_weight=np.arange(1.0, 17.0)[order])
    assert certificate.verify(other) == pytest.approx(certificate.statement.bound, rel=1e-12)
    swapped = y.copy()
    first, second = np.flatnonzero(y > 0)[0], np.flatnonzero(y < 0)[0]
    swapped[[first, second]] = y[[second, first]]  # as many of each class as before
    assert certificate.statement.differences(MarginProblem(X, swapped, sample_weight=np.arange(1.0, 17.0))) == [
        "the labels are others"
    ]


def test_sets_with_arrays_are_told_apart():
    X, y = OVERLAPPING.X, OVERLAPPING.y
    sizes, shapes = np.full(16, 0.1), np.stack([np.diag([0.1, 0.2])] * 16)
    certificate = solve(MarginProblem(X, y, uncertainty=GeodesicBall(sizes))).certificate
    assert certificate.statement.differences(MarginProblem(X, y, uncertainty=GeodesicBall(sizes.copy()))) == []
    larger = np.where(np.arange(16) == 7, 0.2, sizes)
    with pytest.raises(CertificateError, match="uncertainty set"):
        certificate.verify(MarginProblem(X, y, uncertainty=GeodesicBall(larger)))
    certificate = solve(MarginProblem(X, y, uncertainty=Ellipsoid(shapes))).certificate
    shapes[5, 0, 0] = 0.15
    with pytest.raises(CertificateError, match="uncertainty set"):
        certificate.verify(MarginProblem(X, y, uncertainty=Ellipsoid(shapes)))
