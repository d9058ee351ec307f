"""Fit several methods to the same data and put what they reached side by side."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.cli.console import number, percent, show_table, warn
from hypermargin.estimators import HyperbolicSVC
from hypermargin.estimators.inputs import total_weights, training_set
from hypermargin.estimators.multiclass import make_scheme
from hypermargin.problems import MarginProblem
from hypermargin.solvers import Status, relative_gap


@dataclass(frozen=True, eq=False)
class Row:
    """One method: sums over the binary problems, all for the hinge loss, and accuracy on data not fitted to."""

    method: str
    objective: float
    lower_bound: float
    accuracy: float
    seconds: float
    estimator: HyperbolicSVC

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.lower_bound)

    @property
    def is_proved(self) -> bool:
        """Whether an independent check proved every binary problem solved to its tolerance."""
        return all(solution.status.is_proved for solution in self.estimator.solutions_)


def fit_row(estimator: HyperbolicSVC, train: tuple[Array, np.ndarray], test: tuple[Array, np.ndarray]) -> Row:
    """Fit and measure one method."""
    start = time.perf_counter()
    estimator.fit(*train)
    seconds = time.perf_counter() - start
    solutions = estimator.solutions_
    problems = binary_problems(estimator, *train)
    objectives = [p.objective(s.w, "hinge", s.intercept) for p, s in zip(problems, solutions, strict=True)]
    # A bound speaks of one loss only: what bounds another one is not shown beside hinge objectives.
    bounds = [s.lower_bound if s.loss == "hinge" else -np.inf for s in solutions]
    return Row(
        method=estimator.solver,
        objective=float(np.sum(objectives)),
        lower_bound=float(np.sum(bounds)),
        accuracy=float(estimator.score(*test)),
        seconds=seconds,
        estimator=estimator,
    )


def try_rows(
    methods: Iterable[str],
    make: Mapping[str, HyperbolicSVC],
    train: tuple[Array, np.ndarray],
    test: tuple[Array, np.ndarray],
) -> list[Row]:
    """A row for each method that accepts the problem; a refusal becomes a warning. One accepting method is required."""
    rows, refusals = [], []
    for method in methods:
        try:
            rows.append(fit_row(make[method], train, test))
        except ValueError as error:
            refusals.append(f"{method}: {error}")
    if not rows:
        raise ValueError(refusals[0].partition(": ")[2])
    for refusal in refusals:
        warn(refusal)
    return rows


def binary_problems(estimator: HyperbolicSVC, X: Array, y: np.ndarray) -> list[MarginProblem]:
    """The margin problems that `fit` solved, in the order of `solutions_`."""
    labels = np.searchsorted(estimator.classes_, y)
    weight = total_weights(None, estimator.class_weight, labels, estimator.classes_)
    samples = training_set(X, labels, weight, estimator.geometry, estimator.curvature, estimator.uncertainty)
    code = make_scheme(estimator.multi_class, estimator.classes_.size).code
    return [samples.problem(row, float(estimator.C), estimator.allow_timelike) for row in code]


def show_rows(title: str, rows: Sequence[Row], held_out: str) -> None:
    """The table: objective, bound and gap of every method, and how far each is above the best bound of all."""
    best_bound = max(row.lower_bound for row in rows)
    show_table(
        title,
        ("method", "objective", "lower bound", "gap", "excess", "accuracy", "seconds"),
        [
            (
                row.method,
                _objective(row),
                number(row.lower_bound),
                _gap(row.gap) + (" ✓" if row.is_proved else ""),
                _gap(relative_gap(row.objective, best_bound)),
                percent(row.accuracy),
                f"{row.seconds:.2f}",
            )
            for row in rows
        ],
        caption="Objectives are for the hinge loss, whatever loss a method minimises. Gap: to the method's own lower "
        "bound, ✓ where an independent check proved it. Excess: over the best lower bound of all methods. Accuracy: "
        f"{held_out}.",
    )


def _objective(row: Row) -> str:
    """The number, or the word for why there is none."""
    if np.isfinite(row.objective):
        return number(row.objective)
    statuses = row.estimator.statuses_
    return next((s.name.lower() for s in (Status.INFEASIBLE, Status.TIMELIKE) if s in statuses), "infinite")


def _gap(value: Any) -> str:
    return f"{value:.1e}" if np.isfinite(value) else "–"
