"""Positive relations between samples, against linear programming and against cases decided by hand."""

import numpy as np
import pytest
from scipy.optimize import linprog

from hypermargin.certificates.reference.overlap import has_positive_relation
from hypermargin.geometry import lift


def test_a_point_with_both_labels_overlaps_itself():
    assert has_positive_relation([[0.3, 0.1], [0.3, 0.1]], [1, -1])
    assert not has_positive_relation([[0.3, 0.1], [0.3, np.nextafter(0.1, 1)]], [1, -1])


def test_on_a_line_the_middle_point_is_between():
    assert has_positive_relation([[1.0], [2.0], [3.0]], [1, -1, 1])
    assert not has_positive_relation([[1.0], [2.0], [3.0]], [1, 1, -1])


def test_points_of_a_line_in_the_plane():
    """The space parts then have rank one: three samples suffice, and the relations between them are two."""
    assert has_positive_relation([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], [1, -1, 1])


def test_separable_points_that_rounded_time_coordinates_would_call_overlapping():
    """At 60 digits a separating w exists, with margins 1.003, 1.003 and 3.01."""
    assert not has_positive_relation([[23879119.38], [24958597.143], [26086873.7]], [1, -1, -1])


@pytest.mark.parametrize("seed", range(60))
def test_agreement_with_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    space, y = rng.standard_normal((d + 2, d)), rng.choice([-1, 1], d + 2)
    X = lift(space)
    Z = y[:, None] * np.c_[X[:, :1], -X[:, 1:]]
    # max t with z_i.w >= t and |w| <= 1: positive where the samples can be separated
    found = linprog(
        np.r_[np.zeros(d + 1), -1.0],
        A_ub=np.c_[-Z, np.ones(d + 2)],
        b_ub=np.zeros(d + 2),
        bounds=[(-1.0, 1.0)] * (d + 1) + [(None, 1.0)],
    )
    separable = found.x[-1] > 1e-7
    if not separable:  # then a relation exists; with d + 2 samples in general position it is positive throughout or not
        relation = np.linalg.svd(Z.T)[2][-1]
        assert has_positive_relation(space.tolist(), y.tolist()) == (abs(np.sign(relation).sum()) == d + 2)
    else:
        assert not has_positive_relation(space.tolist(), y.tolist())
