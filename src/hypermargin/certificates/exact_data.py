"""The exact problem in the ball arithmetic of Arb, and a few operations on vectors of balls."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat

from hypermargin.arrays import Array
from hypermargin.problems.margin import MarginProblem


class ExactData:
    """The exact problem: rows ``z_i = y_i (sqrt(1 + |xr|^2), -xr)`` and costs ``C`` times the weight."""

    def __init__(self, problem: MarginProblem) -> None:
        self.hard = problem.is_hard
        self.rows = []
        for label, space in zip(problem.y.tolist(), problem.X[:, 1:].tolist(), strict=True):
            exact = [arb(v) for v in space]
            self.rows.append([label * (1 + dot(exact, exact)).sqrt(), *(-label * v for v in exact)])
        weights = np.ones(problem.n_samples) if problem.sample_weight is None else problem.sample_weight
        self._weights = weights.tolist()
        self.costs = [] if self.hard else [arb(problem.C) * weight for weight in self._weights]

    def unused(self, i: int) -> bool:
        """Whether sample i of a hard margin has no weight, and so demands nothing."""
        return self.hard and self._weights[i] == 0.0

    def cost(self, copies: tuple[int, ...]) -> arb:
        return sum((self.costs[i] for i in copies), arb(0))


def half_root() -> arb:
    """``1/sqrt2`` in the precision of the day."""
    return arb(2).rsqrt()


def matrix_of(values: Array) -> arb_mat:
    """A matrix of doubles, exactly."""
    return arb_mat([[arb(v) for v in row] for row in values.tolist()])


def dot(a: Sequence[arb], b: Sequence[Any]) -> arb:
    """The sum of products; doubles are exact numbers."""
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))
