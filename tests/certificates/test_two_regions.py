"""Proofs in flat arrays: the bounds of the general check and of Arb, and what is no proof is refused."""

import numpy as np
import pytest

from hypermargin import MarginProblem, solve
from hypermargin.certificates.core.objective import enclose_objective
from hypermargin.certificates.two_regions import enclosed_two_regions
from hypermargin.solvers.exact.method import Exact
from hypermargin.solvers.exact.runs import QuickResult
from reference.instances import FAMILIES, make_instance


def proved(seed=0, d=2, n=40, family="overlap", weighted=False):
    instance = make_instance(family, d=d, n=n, C=1.0, seed=seed)
    weight = np.random.default_rng(seed).uniform(0.1, 4.0, size=len(instance.y)) if weighted else None
    problem = MarginProblem(instance.X, instance.y, 1.0, weight)
    found = Exact().run_small(problem, 1e-6)
    return problem, found if isinstance(found, QuickResult) else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3, 9])
@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_are_those_of_the_general_check(family, d, weighted):
    problem, found = proved(d=d, n=14, family=family, weighted=weighted)
    if found is None:
        return
    lower, upper = enclosed_two_regions(problem, found.proof, found.w)
    certificate = found.proof.certificate()
    assert lower == certificate.bound_for(problem)
    assert lower == pytest.approx(certificate.bound_for(problem, by_arb=True), rel=1e-9, abs=1e-12)
    assert upper == enclose_objective(problem, found.w, None, found.proof.centre).upper
    assert (found.lower_bound, found.objective) == (lower, upper)


def test_proofs_for_the_test_above_exist():
    problems = [proved(d=d, n=14, family=family)[1] for family in FAMILIES for d in (1, 2, 3, 9)]
    assert sum(found is not None for found in problems) >= len(problems) // 2


def changed(values, place, value):
    values = values.copy()
    values[place] = value
    return values


DAMAGE = {
    "a first node beyond 0": lambda p: {"nodes": changed(p.nodes, 0, 1e-9)},
    "a first node of the other half beyond 0": lambda p: {"nodes": changed(p.nodes, p.above, 1e-9)},
    "nodes in disorder": lambda p: {"nodes": changed(p.nodes, 1, -1.0)},
    "a node that is no number": lambda p: {"nodes": changed(p.nodes, 1, np.nan)},
    "an infinite node": lambda p: {"nodes": changed(p.nodes, p.above - 1, np.inf)},
    "no half t >= 0": lambda p: {"above": 0},
    "no half t <= 0": lambda p: {"above": len(p.nodes)},
    "halves parted elsewhere": lambda p: {"above": p.above + 1},
    "a cut that is not there": lambda p: {"cuts": changed(p.cuts, 0, len(p.points))},
    "a negative cut": lambda p: {"cuts": changed(p.cuts, 0, -1)},
    "a negative weight": lambda p: {"weights": changed(p.weights, 0, -1e-9)},
    "a weight that is no number": lambda p: {"weights": changed(p.weights, 0, np.nan)},
    "fewer weights than cuts": lambda p: {"weights": p.weights[:-1]},
    "starts beyond the cuts": lambda p: {"starts": changed(p.starts, -1, p.starts[-1] + 5)},
    "starts in disorder": lambda p: {"starts": changed(p.starts, 1, p.starts[-1] + 5)},
    "too few starts": lambda p: {"starts": p.starts[:-1]},
    "points of another dimension": lambda p: {"points": p.points[:, :2].copy()},
    "a centre of another dimension": lambda p: {"centre": np.zeros(5)},
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_does_not_cover_all_normals_proves_nothing(damage):
    problem, found = proved()
    broken = found.proof._replace(**DAMAGE[damage](found.proof))
    assert enclosed_two_regions(problem, broken, found.w)[0] == -np.inf


@pytest.mark.parametrize("seed", range(40))
def test_no_change_of_a_proof_proves_more_than_is_true(seed):
    rng = np.random.default_rng(seed)
    problem, found = proved(seed % 4, weighted=seed % 2 == 1)
    best = solve(problem, tol=1e-9).objective
    for _ in range(20):
        name = rng.choice(["weights", "points", "nodes", "cuts", "centre", "threshold"])
        value = getattr(found.proof, name)
        if name == "cuts":
            value = rng.integers(0, len(found.proof.points), size=value.size)
        elif name == "nodes":
            value = value * rng.uniform(0.1, 3.0)
        else:
            value = value * (1.0 + rng.choice([1e-6, 0.1, 3.0]) * rng.normal(size=np.shape(value)))
            value = np.abs(value) if name == "weights" else value
        assert enclosed_two_regions(problem, found.proof._replace(**{name: value}), found.w)[0] <= best * (1.0 + 1e-12)


def test_the_answer_is_judged_by_itself():
    problem, found = proved()
    worse = found.w * 1.01
    assert enclosed_two_regions(problem, found.proof, worse)[1] >= problem.objective(worse) > found.objective
    timelike = np.array([2.0, 1.0, 0.0])
    assert enclosed_two_regions(problem, found.proof, timelike)[1] == np.inf
    assert enclosed_two_regions(problem.with_timelike(True), found.proof, timelike)[1] < np.inf
    assert enclosed_two_regions(problem, found.proof, np.zeros(2))[1] == np.inf
    for entry in (np.nan, np.inf, 1e200):
        assert enclosed_two_regions(problem, found.proof, changed(found.w, 1, entry))[1] == np.inf
