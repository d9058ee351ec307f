"""Answers to the binary problems of a kernel classifier, told as far as somebody asks.

A fit needs coefficients, intercepts and what is proved. Solutions with their certificates, and the Platt coefficients
of the scores, take longer to make than dozens of small problems take to solve; they are made when first asked for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.kernel import KernelCertificate
from hypermargin.estimators.fitting import calibrate
from hypermargin.estimators.inputs import TrainingSet
from hypermargin.solvers import Solution, Status
from hypermargin.solvers.base import make_solution
from hypermargin.solvers.kernel.method import FamilyAnswers, Provable, outcome_of


@dataclass(eq=False)
class KernelAnswers:
    """What is known of every binary problem, for one C.

    Parameters
    ----------
    samples : TrainingSet
    code : (n_problems, n_classes) array
    problem_of : callable
        The problem of a number, as certificates state it; kernel values may be missing.
    together : FamilyAnswers or None
        Those solved in one call.
    members : (m,) array of int
        Their numbers.
    alone : mapping
        Solution and scores of the others, by number, and of members that `together` has not proved.
    """

    samples: TrainingSet
    code: np.ndarray
    problem_of: Callable[[int], Provable]
    together: FamilyAnswers | None
    members: np.ndarray
    alone: Mapping[int, tuple[Solution, Array]]

    def of_all(self, of_family: Callable[[FamilyAnswers], np.ndarray], of_one: Callable[[Solution], Any]) -> np.ndarray:
        """A number of each problem, shape (n_problems,)."""
        values = np.zeros(len(self.code))
        if self.together is not None:
            values[self.members] = of_family(self.together)
        for k, (solution, _) in self.alone.items():
            values[k] = of_one(solution)
        return values

    @property
    def statuses(self) -> list[Status]:
        """Of those solved together only proved ones are kept."""
        return [self.alone[k][0].status if k in self.alone else Status.OPTIMAL for k in range(len(self.code))]

    def coefficients(self) -> Array:
        """Those of all training points in every problem, shape (n_problems, n)."""
        sizes, bounds = self.samples.sizes, np.asarray(self.samples.bounds)
        matrix = np.zeros((len(self.code), bounds[-1]))
        for k, (solution, _) in self.alone.items():
            matrix[k, np.repeat(self.code[k] != 0.0, sizes)] = solution.w
        of_members = [k for k in range(len(self.members)) if int(self.members[k]) not in self.alone]
        if self.together is not None and of_members:
            used = np.zeros_like(matrix, dtype=bool)
            used[self.members[of_members]] = np.repeat(self.code[self.members[of_members]] != 0.0, sizes, axis=1)
            own = self.together.beta
            if len(of_members) < len(self.members):
                own = np.concatenate([self.together.own(own, k) for k in of_members])
            matrix[used] = own
        return matrix

    @cached_property
    def solutions(self) -> list[Solution]:
        """One for each problem, in order."""
        return [self.alone[k][0] if k in self.alone else self._solution(k) for k in range(len(self.code))]

    def _solution(self, k: int) -> Solution:
        found, p = self.together, int(np.searchsorted(self.members, k))
        assert found is not None
        certificate = KernelCertificate.of(found.own(found.beta, p), float(found.intercepts[p]))
        bounds = float(found.lower_bounds[p]), float(found.objectives[p])
        outcome = outcome_of(certificate, bounds, Status.OPTIMAL, int(found.n_iter[p]))
        share = found.seconds / len(self.members)  # of a time that was measured for all
        return make_solution(self.problem_of(k), outcome, bounds[1], np.inf, method="kernel", seconds=share)

    @cached_property
    def platt(self) -> tuple[Array, Array]:
        """Platt coefficients of the scores of the training points, each shape (n_problems,)."""
        return calibrate(self.samples, self.code, self._score)

    @property
    def platt_A(self) -> Array:
        return self.platt[0]

    @property
    def platt_B(self) -> Array:
        return self.platt[1]

    def _score(self, k: int, rows: slice) -> Array:
        """Scores of some training points in a problem; they are in the order of its classes."""
        if k in self.alone:
            scores = self.alone[k][1]
        else:
            assert self.together is not None
            scores = self.together.own(self.together.scores, int(np.searchsorted(self.members, k)))
        before = np.asarray(self.samples.bounds[:-1]) < rows.start
        begin = int(self.samples.sizes[before & (self.code[k] != 0.0)].sum())
        return scores[begin : begin + rows.stop - rows.start]
