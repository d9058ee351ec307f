"""Fingerprints of samples: the compiled pass, the interpreted one and arrays come to the same sums."""

import numpy as np
import pytest

from hypermargin import MarginProblem
from hypermargin.certificates import fingerprints
from hypermargin.check import _name
from hypermargin.data.compiled import hashes
from hypermargin.geometry.lorentz import lift
from interpreted import load_source


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 2), (300, 5)])
def test_all_ways_to_sum_agree(n, d, weighted):
    rng = np.random.default_rng([n, d])
    space, side = rng.standard_normal((n, d)), rng.choice([-1.0, 0.0, 1.0], n)
    space[0, 0] = -0.0  # which is 0
    weight = rng.uniform(0.1, 3.0, n) if weighted else None
    expected, differs = fingerprints._summed([(np, space, side, np.ones(n) if weight is None else weight)])
    rows = np.hstack([np.full((n, 1), np.nan), space])  # the first column is not looked at
    found, also = fingerprints._compiled_sums(rows, 1, side, weight)
    assert [total % 2**64 for total in found] == [total % 2**64 for total in expected]
    assert also == differs == (weighted and bool(np.any(side)))
    *totals, also = load_source(hashes)[0].hash_sums(space, 0, side, np.ones(1) if weight is None else weight)
    assert totals == [total % 2**64 for total in expected]
    assert also == differs


def test_order_does_not_matter_and_anything_else_does():
    rng = np.random.default_rng(0)
    X, y = lift(rng.standard_normal((50, 3))), rng.choice([-1.0, 1.0], 50)
    order = rng.permutation(50)
    base = fingerprints.fingerprints(MarginProblem(X, y))
    assert fingerprints.fingerprints(MarginProblem(X[order], y[order])) == base
    other = y.copy()
    other[0] *= -1.0
    assert fingerprints.fingerprints(MarginProblem(X, other))[0] == base[0]
    assert fingerprints.fingerprints(MarginProblem(X, other))[1] != base[1]
    moved = X[:, 1:].copy()
    moved[3, 1] = np.nextafter(moved[3, 1], 9.0)
    assert fingerprints.fingerprints(MarginProblem(lift(moved), y))[0] != base[0]
    assert fingerprints.fingerprints(MarginProblem(X, y, sample_weight=np.ones(50)))[2] is None
    weight = np.linspace(1.0, 2.0, 50)
    weighted = fingerprints.fingerprints(MarginProblem(X, y, sample_weight=weight))
    assert weighted[:2] == base[:2]
    assert fingerprints.fingerprints(MarginProblem(X[order], y[order], sample_weight=weight[order])) == weighted
    weight[7] = np.nextafter(weight[7], 9.0)
    assert fingerprints.fingerprints(MarginProblem(X, y, sample_weight=weight))[2] not in (None, weighted[2])


def test_the_program_that_runs_alone_names_samples_as_the_library_does():
    rng = np.random.default_rng(3)
    space, y, weight = rng.standard_normal((9, 3)), rng.choice([-1.0, 1.0], 9), rng.uniform(0.1, 3.0, 9)
    space[0, 0] = -0.0
    names = fingerprints.sample_names(MarginProblem(lift(space), y, sample_weight=weight))
    alone = [_name(*sample) for sample in zip(space.tolist(), y.astype(int).tolist(), weight.tolist(), strict=True)]
    assert alone == [f"{name % 2**64:016x}" for name in names.tolist()]
