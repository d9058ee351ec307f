"""The three losses against high-precision formulas that share nothing with the code."""

import mpmath as mp
import numpy as np
import pytest

from hypermargin.problems.losses import LOSSES, get_loss

MARGINS = [-1e9, -4.7e4, -30.0, -1.0, -0.3, 0.0, 1e-9, 0.2, 0.5, 0.999999, 1.0, 1.5, 1e6]


def exact_loss(name, m):
    """The definitions of the paper in 50 digits; taylor3 by bisection of its cubic, not by Cardano."""
    with mp.workdps(50):
        m = mp.mpf(m)
        if m >= 1:
            return mp.mpf(0)
        if name == "hinge":
            return (1 - m) / mp.sqrt(2)
        if name == "asinh":
            return mp.asinh(1) - mp.asinh(m)

        def cubic(xi):
            return 1 - mp.sqrt(2) * xi + xi**2 / 2 - mp.sqrt(2) * xi**3 / 6 - m

        high = mp.mpf(1)
        while cubic(high) > 0:
            high *= 2
        return mp.findroot(cubic, (0, high), solver="anderson", tol=1e-60, maxsteps=500)


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("m", MARGINS)
def test_value_matches_high_precision(name, m):
    got = get_loss(name).value(np.array([m]))[0]
    # Near m = 1 the value is a difference of numbers near 1, so rounding is absolute there.
    assert got == pytest.approx(float(exact_loss(name, m)), rel=1e-13, abs=4e-16)


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("m", [m for m in MARGINS if m not in (0.0, 1.0, 0.999999, 1e-9)])
def test_derivative_matches_high_precision(name, m):
    if m >= 1:
        expected = 0.0
    else:
        with mp.workdps(50):
            step = mp.mpf(10) ** -12 * max(1, abs(m))
            expected = float((exact_loss(name, m + step) - exact_loss(name, m - step)) / (2 * step))
    assert get_loss(name).derivative(np.array([m]))[0] == pytest.approx(expected, rel=1e-10)


def test_polynomial_losses_touch_asinh_at_the_margin_to_their_order():
    """hinge and taylor3 are Taylor forms of asinh at m = 1, so they differ from it by O(h^2) and O(h^4)."""
    for h in (1e-1, 1e-2):
        m = np.array([1.0 - h])
        asinh = get_loss("asinh").value(m)[0]
        assert abs(get_loss("hinge").value(m)[0] - asinh) < h**2
        assert abs(get_loss("taylor3").value(m)[0] - asinh) < h**4


def test_only_the_hinge_claims_convexity_and_the_claims_hold():
    a, b = np.meshgrid(np.linspace(-5, 3, 41), np.linspace(-5, 3, 41))
    for loss in LOSSES.values():
        bulge = loss.value((a + b) / 2) - (loss.value(a) + loss.value(b)) / 2
        assert (np.max(bulge) <= 1e-12) == loss.convex


def test_unknown_loss_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown loss 'log'; the losses are asinh, hinge, taylor3"):
        get_loss("log")
