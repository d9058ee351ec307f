"""Normals moved to a frame: the exact image is within the stated errors, and these are not too large."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from hypermargin.arithmetic import exact_form
from hypermargin.geometry.exact_normals import normal_to_frame, onto_cone, pushed_out
from hypermargin.geometry.lorentz import lift


def root(value, bits=400):
    """The square root of a fraction to some hundred bits, by integers."""

    return Fraction(isqrt(value.numerator * 4**bits // value.denominator), 2**bits)


def exact_image(w, centre):
    """``(T w0 - c.wr, wr + c (c.wr/(1 + T) - w0))`` with ``T = sqrt(1 + |c|^2)``, in fractions."""
    t, *space = w
    c = [Fraction(float(value)) for value in centre]
    T = root(1 + sum(a * a for a in c))
    along = sum((a * b for a, b in zip(c, space, strict=True)), Fraction(0))
    return [T * t - along, *(v + a * (along / (1 + T) - t) for v, a in zip(space, c, strict=True))]


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("d", [1, 2, 7, 60])
@pytest.mark.parametrize("radius", [0.0, 1.0, 8.0, 16.0])
def test_the_exact_image_is_within_the_errors(d, radius, two):
    rng = np.random.default_rng([d, int(radius)])
    for _ in range(20):
        direction = rng.standard_normal(d)
        centre = np.sinh(radius) * direction / np.linalg.norm(direction)
        w = rng.standard_normal(d + 1) * 10.0 ** rng.uniform(-5.0, 5.0)
        if rng.random() < 0.5:  # as long as normals of the frame get outside of it, so that nearly all cancels
            w = w[0] * np.append(lift(centre)[0], centre) * (1.0 + 1e-10 * rng.standard_normal(d + 1))
        low = 2.0**-54 * w * rng.standard_normal(d + 1) if two else None
        check_image(w, low, centre)


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1e-300, 1e-140, 1e140, 1e300])
def test_extreme_sizes_have_true_errors_too(scale):
    rng = np.random.default_rng(1)
    for _ in range(10):
        check_image(scale * rng.uniform(-1.0, 1.0, 4), None, 1e5 * rng.standard_normal(3))


def check_image(w, low, centre):
    """The image is within the errors, and these are little more than the rounding of the largest entry."""
    moved, errors = normal_to_frame(w, low, centre)
    exact = [
        Fraction(a) + Fraction(b) for a, b in zip(w.tolist(), (0.0 * w if low is None else low).tolist(), strict=True)
    ]
    truth = exact_image(exact, centre)
    for value, error, entry in zip(moved.tolist(), errors.tolist(), truth, strict=True):
        assert abs(entry - Fraction(value)) <= Fraction(error)
    assert Fraction(errors.max()) <= Fraction(1.01) * Fraction(2) ** -53 * max(map(abs, truth)) + Fraction(1e-299)


def test_normals_that_are_clearly_spacelike_are_not_touched():
    rng = np.random.default_rng(0)
    for share in (0.0, 0.9, 1.0 - 1e-5, 1.0 - 1e-9, 1.0, 1.0 + 1e-15):
        space = rng.standard_normal(3)
        w = np.append(share * np.linalg.norm(space), space)
        out, low = pushed_out(w)
        assert low is None
        assert exact_form(out) >= 0
        if exact_form(w) >= 0:
            assert np.array_equal(out, w)


@pytest.mark.parametrize("seed", range(20))
def test_lightlike_normals_that_were_rounded_go_back_to_the_cone(seed):
    """In rational arithmetic: q was 1e-16 of ``|w|^2`` and is 1e-31 of it; other normals stay as they are."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(1 + seed % 4) * 10.0 ** rng.uniform(-8.0, 8.0)
    w = np.r_[rng.choice([-1.0, 1.0]) * np.linalg.norm(v) * (1.0 + rng.integers(-3, 4) * 2.0**-52), v]
    square = Fraction(float(w @ w))
    moved = exact_form(*onto_cone(w, np.zeros_like(w)))
    assert abs(Fraction(int(moved.p), int(moved.q))) <= square * Fraction(1, 2**100)
    clear = w * np.r_[1.0 - 1e-12, np.ones(v.size)]
    high, low = onto_cone(clear, np.zeros_like(clear))
    assert np.array_equal(high, clear)
    assert not np.any(low)
