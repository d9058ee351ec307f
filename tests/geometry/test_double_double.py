"""Double-double arithmetic against ball arithmetic of 400 bits and mpmath, and its source run by the interpreter."""

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from hypermargin.geometry import lift
from hypermargin.geometry.compiled import double_double
from hypermargin.geometry.isometries import move_to_origin_precisely
from interpreted import load_source

(PLAIN,) = load_source(double_double)
U = 2.0**-53


def exact_image(space, centre):
    """The point over `space` after the boost that takes `centre` to the origin, as balls."""
    v, c = [arb(float(a)) for a in space], [arb(float(a)) for a in centre]
    x0, T = (1 + sum(a * a for a in v)).sqrt(), (1 + sum(a * a for a in c)).sqrt()
    along = sum(a * b for a, b in zip(v, c, strict=True))
    factor = along / (1 + T) - x0
    return [T * x0 - along, *(a + b * factor for a, b in zip(v, c, strict=True))]


@pytest.mark.parametrize("d", [1, 2, 5, 16])
@pytest.mark.parametrize("radius", [0.1, 8.0, 14.0, 18.0])
def test_moved_points_are_the_exact_images_rounded_once(d, radius, rng):
    direction = rng.standard_normal((12, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    centre = direction[0] * np.sinh(radius)
    far = direction * np.sinh(radius * rng.random((12, 1)))
    near = centre * (1.0 + 1e-7 * rng.standard_normal((12, 1))) + 1e-3 * direction
    for space in (far, near):
        moved = move_to_origin_precisely(lift(space), lift(centre))
        with ctx.workprec(400):
            for v, x in zip(space, moved, strict=True):
                size = np.hypot(1.0, np.linalg.norm(v)) * np.hypot(1.0, np.linalg.norm(centre))
                before_rounding = (256 * d + 1024) * U * U * size
                for value, exact in zip(x, exact_image(v, centre), strict=True):
                    assert abs(arb(float(value)) - exact) <= U * abs(value) * 1.0001 + before_rounding


def test_compiled_and_interpreted_agree_to_the_bit(rng):
    space, centre = np.sinh(10.0) * rng.standard_normal((50, 3)), np.sinh(9.0) * rng.standard_normal(3)
    results = []
    for module in (double_double, PLAIN):
        moved, high, low = np.empty((50, 4)), np.empty(50), np.empty(50)
        module.move_space_parts(space, centre, moved)
        module.scaled_squares(1e-9 * space, 0.3, high, low)
        module.roots(high, low)
        results.append((moved, high, low))
    for ours, plain in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, plain)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_arrays_of_pairs_against_fifty_digits(library, rng):
    xp = pytest.importorskip(library)
    n = 40
    a, b, c = (np.ldexp(rng.uniform(0.5, 1.0, n), rng.integers(-300, 300, n) // 2) for _ in range(3))
    pairs = [double_double.from_product(*map(xp.asarray, two)) for two in ((a, b), (c, c))]
    results = {
        "product": pairs[0],
        "sum": double_double.add(*pairs),
        "quotient": double_double.divide(*pairs),
        "root": double_double.square_root(pairs[0], xp),
    }
    with mpmath.workdps(80):
        x, y = ([mpmath.mpf(p) * mpmath.mpf(q) for p, q in zip(*two, strict=True)] for two in ((a, b), (c, c)))
        exact = {
            "product": x,
            "sum": [p + q for p, q in zip(x, y, strict=True)],
            "quotient": [p / q for p, q in zip(x, y, strict=True)],
            "root": [mpmath.sqrt(p) for p in x],
        }
        for name, (high, low) in results.items():
            most = 0.0 if name == "product" else 2.0**-101
            for top, rest, value in zip(high.tolist(), low.tolist(), exact[name], strict=True):
                assert abs(mpmath.mpf(top) + mpmath.mpf(rest) - value) <= most * value, name
                assert abs(rest) <= 2.0**-53 * abs(top), name


def test_time_coordinates_against_fifty_digits(rng):
    space = np.sinh(18.0 * rng.random((30, 1))) * rng.standard_normal((30, 3))
    (high, low), error = double_double.time_coordinates(space)
    with mpmath.workdps(80):
        for row, top, rest in zip(space.tolist(), high.tolist(), low.tolist(), strict=True):
            exact = mpmath.sqrt(1 + sum(mpmath.mpf(v) ** 2 for v in row))
            assert abs(mpmath.mpf(top) + mpmath.mpf(rest) - exact) <= error * exact
