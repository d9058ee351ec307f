"""Splits solved to a proved optimum: the exact method at every node, and the certificates it leaves."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.forest.compiled.grower import Grower
from hypermargin.geometry.lorentz import covector
from hypermargin.problems import MarginProblem
from hypermargin.solvers import Solution, solve


@dataclass(frozen=True, eq=False)
class CertifiedSplit:
    """The problem behind a split, and its solution with the certificate.

    `node` is the node of the tree; `rows` are rows of the forest's training points `points_`, `signs` their sides and
    `costs` their weights in the risk.
    """

    node: int
    rows: np.ndarray
    signs: Array
    costs: Array
    solution: Solution

    def problem(self, points: Array) -> MarginProblem:
        """What was solved: minimise ``max(q(w), 0)/2 + risk`` over the sample of the node."""
        return _problem(points, self.rows, self.signs, self.costs)

    def verify(self, points: Array) -> float:
        """The lower bound of the objective, checked anew from the training points of the forest."""
        assert self.solution.certificate is not None
        return self.solution.certificate.verify(self.problem(points))

    def to_dict(self) -> dict[str, Any]:
        """Arrays and plain values only."""
        return {"node": self.node, "rows": self.rows, "signs": self.signs, "costs": self.costs} | {
            "solution": self.solution.to_dict()
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "CertifiedSplit":
        return cls(**{**state, "solution": Solution.from_dict(state["solution"])})


def _problem(points: Array, rows: np.ndarray, signs: Array, costs: Array) -> MarginProblem:
    return MarginProblem.unchecked(points[rows], signs, 1.0, costs, None, True)


def grow_certified(grower: Grower, points: Array, tol: float) -> list[CertifiedSplit]:
    """Grow a tree with the exact method in place of the fast separator; one entry for each split of the tree."""
    kept = []
    while (node := grower.open_next()) >= 0:
        best = None
        for _ in range(grower.candidates()):
            rows, signs, costs = grower.draw()
            solution = solve(_problem(points, rows, signs, costs), "exact", tol=tol)
            if grower.offer(covector(solution.w)):
                best = CertifiedSplit(node, rows, signs, costs, solution)
        if grower.close() and best is not None:
            kept.append(best)
    return kept
