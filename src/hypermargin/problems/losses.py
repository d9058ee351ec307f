"""Losses of one sample as functions of its margin ``m = y (x * w)``.

Each loss is zero for ``m >= 1`` and non-increasing. `hinge` and `taylor3` are the paper's polynomial forms of `asinh`
(eq. soft-margin-first-order, soft-margin-third-order, soft-margin).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SQRT2 = float(np.sqrt(2.0))


@dataclass(frozen=True)
class Loss:
    """A loss and its derivative, both elementwise; `convex` is whether the risk is convex in w."""

    name: str
    value: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    convex: bool


def _hinge(m: Array) -> Array:
    return np.maximum(0.0, 1.0 - m) / SQRT2


def _hinge_derivative(m: Array) -> Array:
    return np.where(m < 1.0, -1.0 / SQRT2, 0.0)


def _asinh(m: Array) -> Array:
    return np.maximum(0.0, np.arcsinh(1.0) - np.arcsinh(m))


def _asinh_derivative(m: Array) -> Array:
    return np.where(m < 1.0, -1.0 / np.hypot(1.0, m), 0.0)


def _taylor3(m: Array) -> Array:
    """Slack ``xi >= 0`` with ``1 - sqrt2 xi + xi^2/2 - sqrt2 xi^3/6 = m``.

    The cubic falls strictly, so the root is unique. With ``xi = (u + 1)/sqrt2`` the equation becomes
    ``u^3 + 9 u + 12 m - 2 = 0``, which the hyperbolic form of Cardano's formula solves without cancellation.
    """
    constant = 12.0 * m - 2.0
    root = -2.0 * np.sqrt(3.0) * np.sinh(np.arcsinh(constant / (6.0 * np.sqrt(3.0))) / 3.0)
    return np.maximum(0.0, (root + 1.0) / SQRT2)


def _taylor3_derivative(m: Array) -> Array:
    slack = _taylor3(m)
    return np.where(m < 1.0, 1.0 / (-SQRT2 + slack - SQRT2 * slack**2 / 2.0), 0.0)


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("hinge", _hinge, _hinge_derivative, convex=True),
        Loss("asinh", _asinh, _asinh_derivative, convex=False),
        Loss("taylor3", _taylor3, _taylor3_derivative, convex=False),
    )
}


def get_loss(name: str) -> Loss:
    """The loss called `name`, or a `ValueError` that lists the names there are."""
    try:
        return LOSSES[name]
    except KeyError:
        raise ValueError(f"unknown loss {name!r}; the losses are {', '.join(sorted(LOSSES))}") from None
