"""The optimum depends on the geometry alone: isometries, the order of samples, the names of the classes, copies."""

import numpy as np
import pytest

from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import solve
from reference.instances import FAMILIES, Instance, make_instance, random_isometry
from reference.objective import lift

# Beyond d = 3 the surrounded instances may end at a budget, with a gap that need not be invariant.
CASES = [
    pytest.param(family, d, C, id=f"{family}-d{d}-C{C:g}")
    for family in FAMILIES
    for d in (2, 3, 5)
    for C in (0.1, 1.0, 10.0)
    if not (family == "surrounded" and d > 3)
]


def optimum(instance: Instance, **changes) -> float:
    """The optimal value to 1e-8, so that two of them can be compared to 1e-7."""
    fields = {"X": instance.X, "y": instance.y, "C": instance.C, "sample_weight": instance.weight, **changes}
    solution = solve(MarginProblem(**fields), method="exact", tol=1e-8)
    assert solution.gap <= 1e-6
    return solution.objective


@pytest.mark.parametrize(("family", "d", "C"), CASES)
@pytest.mark.parametrize("radius", [0.0, 3.0, 8.0])
def test_isometries_do_not_change_the_optimum(family, d, C, radius):
    instance = make_instance(family, d=d, n=24, C=C, seed=11)
    isometry = random_isometry(np.random.default_rng([d, int(radius)]), d, radius)
    # At radius 8 the rounding of the moved coordinates alone changes the optimum by up to 1e-9.
    moved = lift((instance.X @ isometry.T)[:, 1:])
    assert optimum(instance, X=moved) == pytest.approx(optimum(instance), rel=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_timelike_form_is_invariant_too(family):
    instance = make_instance(family, d=3, n=24, C=1.0, seed=12)
    isometry = random_isometry(np.random.default_rng(12), 3, 8.0)
    moved = lift((instance.X @ isometry.T)[:, 1:])
    values = [optimum(instance, X=X, allow_timelike=True) for X in (instance.X, moved)]
    assert values[1] == pytest.approx(values[0], rel=1e-7, abs=1e-9 * float(np.sum(instance.costs)))


@pytest.mark.parametrize("d", [2, 3])
def test_the_hard_margin_is_invariant_too(d):
    instance = make_instance("separable", d=d, n=24, C=1.0, seed=13)
    isometry = random_isometry(np.random.default_rng(13), d, 8.0)
    moved = lift((instance.X @ isometry.T)[:, 1:])
    values = [optimum(instance, X=X, C=np.inf) for X in (instance.X, moved)]
    assert values[1] == pytest.approx(values[0], rel=1e-7)


@pytest.mark.parametrize(("family", "d", "C"), CASES)
def test_order_and_names_do_not_matter(family, d, C):
    instance = make_instance(family, d=d, n=24, C=C, seed=21)
    value = optimum(instance)
    order = np.random.default_rng(21).permutation(len(instance.y))
    weight = None if instance.weight is None else instance.weight[order]
    assert optimum(instance, X=instance.X[order], y=instance.y[order], sample_weight=weight) == pytest.approx(
        value, rel=1e-7
    )
    assert optimum(instance, y=-instance.y) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize(("family", "d", "C"), CASES)
def test_weights_count_copies(family, d, C):
    instance = make_instance(family, d=d, n=24, C=C, seed=31)
    copies = np.random.default_rng(31).integers(0, 3, size=len(instance.y))
    copies[np.flatnonzero(instance.y > 0)[0]] = copies[np.flatnonzero(instance.y < 0)[0]] = 1
    repeated = {"X": np.repeat(instance.X, copies, axis=0), "y": np.repeat(instance.y, copies)}
    by_weight = optimum(instance, sample_weight=copies.astype(float))
    assert optimum(instance, sample_weight=None, **repeated) == pytest.approx(by_weight, rel=1e-7)
    # Halving C and doubling every weight is the same problem.
    assert optimum(instance, C=C / 2.0, sample_weight=2.0 * copies) == pytest.approx(by_weight, rel=1e-7)
