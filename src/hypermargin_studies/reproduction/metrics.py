"""What is measured of one fitted classifier on one fold."""

from collections import Counter
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score

from hypermargin.arrays import Array
from hypermargin.estimators import HyperbolicSVC
from hypermargin.estimators.multiclass import make_scheme, problem_of_row

LOSSES = ("hinge", "asinh")


def accuracies(classifier: Any, X: Array, y: np.ndarray, part: str) -> dict[str, float]:
    """Accuracy and weighted F1 score on one part ("train" or "test") of the data."""
    predicted = classifier.predict(X)
    return {
        f"{part}_accuracy": float(accuracy_score(y, predicted)),
        f"{part}_f1": float(f1_score(y, predicted, average="weighted", zero_division=0.0)),
    }


def margin_measures(
    model: HyperbolicSVC, train: tuple[Array, np.ndarray], test: tuple[Array, np.ndarray]
) -> dict[str, Any]:
    """Objectives of both losses, bounds and the paper's eta, for every binary problem that `model` solved.

    Losses are summed over the binary problems; on the test part the objective is that of the test points.
    """
    solutions = model.solutions_
    problems = model.binary_problems(*train)
    measures: dict[str, Any] = {}
    for loss in LOSSES:
        values = [s.objective_for(loss, p) for p, s in zip(problems, solutions, strict=True)]
        measures[f"train_{loss}"] = finite(float(np.sum(values)))
        measures[f"objective_{loss}"] = [finite(value) for value in values]
        measures[f"test_{loss}"] = finite(_test_objective(model, *test, loss))
    measures["lower_bound"] = [finite(s.bound_for("hinge")) for s in solutions]
    etas = [s.info["paper_eta"] for s in solutions if "paper_eta" in s.info]
    measures["eta"] = float(np.mean(etas)) if etas else None
    measures["w"] = [[*map(float, s.w), float(s.intercept)] for s in solutions]
    measures["statuses"] = dict(Counter(s.status.name for s in solutions))
    return measures


def _test_objective(model: HyperbolicSVC, X: Array, y: np.ndarray, loss: str) -> float:
    """The sum over binary problems of the objective with the test points in place of the training points."""
    code = make_scheme(model.multi_class, model.classes_.size).code
    labels = np.searchsorted(model.classes_, y)
    total = 0.0
    for row, solution in zip(code, model.solutions_, strict=True):
        if np.any(row[labels]):
            problem = problem_of_row(X, labels, row, float(model.C), model.allow_timelike)
            total += problem.objective(solution.w, loss, solution.intercept)
    return total


def finite(value: float) -> float | None:
    """The number, or None where it is infinite: JSON has no infinity."""
    return float(value) if np.isfinite(value) else None
