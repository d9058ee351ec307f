"""Answers to the binary problems of a classifier, told as far as somebody asks.

A fit needs normals and what is proved of them. Solutions with their certificates, and the Platt coefficients of the
scores, take longer to make than many small problems take to solve; they are made when first asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.fitting import Answer, calibrate_normals
from hypermargin.estimators.inputs import TrainingSet
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import Solution


@dataclass(eq=False)
class MarginAnswers:
    """What is known of every binary problem, for one C.

    Parameters
    ----------
    samples : TrainingSet
    code : (n_problems, n_classes) array
    problem_of : callable
        The problem of a row of the code matrix, as certificates state it.
    answers : list
        In the order of the rows.
    """

    samples: TrainingSet
    code: np.ndarray
    problem_of: Callable[[np.ndarray], MarginProblem]
    answers: list[Answer]

    @cached_property
    def solutions(self) -> list[Solution]:
        """One for each problem, in order."""
        return [
            answer if isinstance(answer, Solution) else answer.solution(self.problem_of(row))
            for answer, row in zip(self.answers, self.code, strict=True)
        ]

    @cached_property
    def platt(self) -> tuple[Array, Array]:
        """Platt coefficients of the scores of the training points, each shape (n_problems,)."""
        intercepts = np.array([answer.intercept for answer in self.answers])
        return calibrate_normals(self.samples, self.code, np.stack([answer.w for answer in self.answers]), intercepts)

    @property
    def platt_A(self) -> Array:
        return self.platt[0]

    @property
    def platt_B(self) -> Array:
        return self.platt[1]
