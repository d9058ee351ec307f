"""Normals moved to a frame in doubles: the exact image is within the stated errors, and these are not too large."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from hypermargin.geometry.exact_normals import exact_form, normal_to_frame_in_doubles, pushed_out
from hypermargin.geometry.lorentz import lift


def root(value, bits=400):
    """The square root of a fraction to some hundred bits, by integers."""

    return Fraction(isqrt(value.numerator * 4**bits // value.denominator), 2**bits)


def exact_image(w, centre):
    """``(T w0 - c.wr, wr + c (c.wr/(1 + T) - w0))`` with ``T = sqrt(1 + |c|^2)``, in fractions."""
    t, *space = [Fraction(float(value)) for value in w]
    c = [Fraction(float(value)) for value in centre]
    T = root(1 + sum(a * a for a in c))
    along = sum((a * b for a, b in zip(c, space, strict=True)), Fraction(0))
    return [T * t - along, *(v + a * (along / (1 + T) - t) for v, a in zip(space, c, strict=True))]


@pytest.mark.parametrize("d", [1, 2, 7, 60])
@pytest.mark.parametrize("radius", [0.0, 1.0, 8.0, 16.0])
def test_the_exact_image_is_within_the_errors(d, radius):
    rng = np.random.default_rng([d, int(radius)])
    for _ in range(20):
        direction = rng.standard_normal(d)
        centre = np.sinh(radius) * direction / np.linalg.norm(direction)
        w = rng.standard_normal(d + 1) * 10.0 ** rng.uniform(-5.0, 5.0)
        if rng.random() < 0.5:  # as long as normals of the frame get outside of it, so that nearly all cancels
            w = w[0] * np.append(lift(centre)[0], centre) * (1.0 + 1e-10 * rng.standard_normal(d + 1))
        moved, errors = normal_to_frame_in_doubles(w, lift(centre))
        for value, error, truth in zip(moved.tolist(), errors.tolist(), exact_image(w, centre), strict=True):
            assert abs(truth - Fraction(value)) <= Fraction(error)
        size = (2.0 * d + 16.0) * 2.0**-53 * np.abs(lift(centre)).sum() * np.abs(w).sum()
        assert np.all(errors <= 1.001 * size + 1e-299)


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
