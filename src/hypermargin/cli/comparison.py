"""Fit several methods to the same data and compare what they reach."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.cli.console import number, percent, show_table, warn
from hypermargin.estimators import HyperbolicKernelSVC, HyperbolicSVC
from hypermargin.solvers import ROUNDING, Status, relative_gap


@dataclass(frozen=True, eq=False)
class Row:
    """One method: sums over the binary problems, all for one loss, and accuracy on data not fitted to."""

    method: str
    objective: float
    lower_bound: float
    accuracy: float
    seconds: float
    estimator: HyperbolicSVC | HyperbolicKernelSVC

    @property
    def is_geodesic(self) -> bool:
        """Whether the objective is that of geodesic boundaries; curves and kernels minimise others."""
        return isinstance(self.estimator, HyperbolicSVC) and self.estimator.boundary == "geodesic"

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.lower_bound)

    @property
    def is_proved(self) -> bool:
        """Whether every binary problem is proved solved to its tolerance, and nothing in the row contradicts it."""
        return self.gap >= -ROUNDING and all(solution.is_proved for solution in self.estimator.solutions_)


def fit_row(
    method: str,
    estimator: HyperbolicSVC | HyperbolicKernelSVC,
    train: tuple[Array, np.ndarray],
    test: tuple[Array, np.ndarray],
) -> Row:
    """Fit and measure one method."""
    start = time.perf_counter()
    estimator.fit(*train)
    seconds = time.perf_counter() - start
    solutions = estimator.solutions_
    loss = compared_loss(estimator)
    problems = estimator.binary_problems(*train)
    return Row(
        method=method,
        objective=float(sum(s.objective_for(loss, p) for p, s in zip(problems, solutions, strict=True))),
        lower_bound=float(sum(s.bound_for(loss) for s in solutions)),
        accuracy=float(estimator.score(*test)),
        seconds=seconds,
        estimator=estimator,
    )


def compared_loss(estimator: HyperbolicSVC | HyperbolicKernelSVC) -> str:
    """The loss that objectives are shown for: the one asked for, else the hinge."""
    return getattr(estimator, "loss", None) or "hinge"


def try_rows(
    methods: Iterable[str],
    make: Mapping[str, HyperbolicSVC | HyperbolicKernelSVC],
    train: tuple[Array, np.ndarray],
    test: tuple[Array, np.ndarray],
) -> list[Row]:
    """A row for each method that accepts the problem; a refusal becomes a warning. One accepting method is required."""
    rows, refusals = [], []
    for method in methods:
        try:
            rows.append(fit_row(method, make[method], train, test))
        except ValueError as error:
            refusals.append(f"{method}: {error}")
    if not rows:
        raise ValueError(refusals[0].partition(": ")[2])
    for refusal in refusals:
        warn(refusal)
    return rows


def show_rows(title: str, rows: Sequence[Row], held_out: str) -> None:
    """The table: objective, bound and gap of every method, and how far each is above the best bound of all."""
    best_bound = max((row.lower_bound for row in rows if row.is_geodesic), default=-np.inf)
    show_table(
        title,
        ("method", "objective", "lower bound", "gap", "excess", "accuracy", "seconds"),
        [
            (
                row.method,
                _objective(row),
                number(row.lower_bound),
                _gap(row.gap) + (" ✓" if row.is_proved else ""),
                _gap(relative_gap(row.objective, best_bound) if row.is_geodesic else np.inf),
                percent(row.accuracy),
                f"{row.seconds:.2f}",
            )
            for row in rows
        ],
        caption=f"Objectives are for the {compared_loss(rows[0].estimator)} loss, whatever loss a method minimises. "
        "Gap: to the method's own lower bound, ✓ where an independent check proved it. Excess: over the best lower "
        "bound of all methods with geodesic boundaries; curves and kernels minimise objectives of their own. "
        f"Accuracy: {held_out}.",
    )


def _objective(row: Row) -> str:
    """The number, or the word for why there is none."""
    if np.isfinite(row.objective):
        return number(row.objective)
    statuses = row.estimator.statuses_
    return next((s.name.lower() for s in (Status.INFEASIBLE, Status.TIMELIKE) if s in statuses), "infinite")


def _gap(value: Any) -> str:
    return f"{value:.1e}" if np.isfinite(value) else "–"
