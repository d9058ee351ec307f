"""`hypermargin compare`: every method on one file."""

import argparse
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from hypermargin.arrays import Array
from hypermargin.cli.console import CommandError, number, percent, say, show_table, warn, with_progress
from hypermargin.cli.options import WITHOUT_C, add_shared_arguments, chosen_methods, make_classifier, points_of
from hypermargin.estimators import HyperbolicKernelSVC, HyperbolicSVC
from hypermargin.kernels import KERNELS
from hypermargin.solvers import ROUNDING, Status, relative_gap

EXAMPLES = """examples:
  hypermargin compare points.csv
      all methods; a quarter of the points is held out to measure accuracy
  hypermargin compare points.npz --methods euclidean,pgd --test-size 0.5 -C 0.1
  hypermargin compare points.csv --test-size 0
      fit to all points and measure accuracy on them
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared_arguments(parser, "data", "unlabelled")
    parser.add_argument("--methods", metavar="A,B,...", help="the methods to compare (default: all)")
    parser.add_argument(
        "--test-size", type=float, default=0.25, metavar="SHARE", help="share of points held out (%(default)s)"
    )
    add_shared_arguments(parser, "geometry", "C", "weights", "search", "classes")


def run(args: argparse.Namespace) -> None:
    if not 0.0 <= args.test_size < 1.0:
        raise CommandError(f"--test-size must be at least 0 and below 1, got {args.test_size}")
    methods = chosen_methods(args.methods)
    if args.uncertainty is not None and args.methods is None:
        methods = tuple(method for method in methods if method not in (*KERNELS, *WITHOUT_C))
        names, others = ", ".join(KERNELS), " and ".join(WITHOUT_C)
        warn(f"--uncertainty: kernels have no robust form and are left out ({names}), and so are {others}")
    points = points_of(args, labelled=True)
    scheme = {"multi_class": args.multi_class, "n_jobs": args.jobs}
    classifiers = {method: make_classifier(args, method, **scheme) for method in methods}
    train = test = points.X, points.labels
    if args.test_size:
        train, test = held_out(*train, args.test_size, args.seed)
    rows = try_rows(with_progress(methods, "fitting"), classifiers, train, test)
    measured = f"on {len(test[0])} points held out" if args.test_size else "on the points fitted to"
    show_rows(f"{args.data}: {len(train[0])} points, C = {args.C:g}", rows, measured)
    refused = [method for method in methods if method not in {row.method for row in rows}]
    if refused:
        say(f"not in the table: {', '.join(refused)}")


# -- the table of `compare` and `demo` ---------------------------------------------------------------------------------

#: Points and labels.
Data = tuple[Array, np.ndarray]


def held_out(X: Array, y: np.ndarray, share: float, seed: int) -> tuple[Data, Data]:
    """Data to fit to, and a share of every class to measure accuracy on."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=share, stratify=y, random_state=seed)
    return (X_train, y_train), (X_test, y_test)


@dataclass(frozen=True, eq=False)
class Row:
    """One method: sums over the binary problems, all for one loss, and the accuracy on test data."""

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
        """Whether every binary problem is proved solved to its tolerance, and the sums do not contradict that."""
        solutions = getattr(self.estimator, "solutions_", [])  # neighbours and forests have none
        return self.gap >= -ROUNDING and bool(solutions) and all(solution.is_proved for solution in solutions)


def fit_row(method: str, estimator: HyperbolicSVC | HyperbolicKernelSVC, train: Data, test: Data) -> Row:
    """Fit one method and measure it."""
    start = time.perf_counter()
    estimator.fit(*train)
    seconds = time.perf_counter() - start
    objective, lower_bound = np.nan, -np.inf
    if hasattr(estimator, "solutions_"):  # neighbours and forests minimise nothing
        solutions, problems = estimator.solutions_, estimator.binary_problems(*train)
        loss = compared_loss(estimator)
        objective = float(sum(s.objective_for(loss, p) for p, s in zip(problems, solutions, strict=True)))
        lower_bound = float(sum(s.bound_for(loss) for s in solutions))
    return Row(method, objective, lower_bound, float(estimator.score(*test)), seconds, estimator)


def compared_loss(estimator: HyperbolicSVC | HyperbolicKernelSVC) -> str:
    """The loss whose objective is shown: that of the estimator, by default the hinge."""
    return getattr(estimator, "loss", None) or "hinge"


def try_rows(
    methods: Iterable[str], make: Mapping[str, HyperbolicSVC | HyperbolicKernelSVC], train: Data, test: Data
) -> list[Row]:
    """A row for each method that accepts the problem; a refusal is a warning, or an error if all methods refuse."""
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


def show_rows(title: str, rows: Sequence[Row], measured: str) -> None:
    """Print objective, bound and gap of every method, and how far each is above the best bound of all."""
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
        f"Accuracy: {measured}.",
    )


def _objective(row: Row) -> str:
    """The objective, or a word for why it is infinite."""
    if not np.isinf(row.objective):
        return "–" if np.isnan(row.objective) else number(row.objective)
    statuses = row.estimator.statuses_
    return next((s.name.lower() for s in (Status.INFEASIBLE, Status.TIMELIKE) if s in statuses), "infinite")


def _gap(value: Any) -> str:
    return f"{value:.1e}" if np.isfinite(value) else "–"
