"""The families of classifiers to choose from: their candidates, and how all of one family are tried on a fold.

Everything is tried on unit Lorentz points; the classifier chosen is fitted to the coordinates of the user.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.choice.answers import Answers
from hypermargin.estimators.forest import HyperbolicForestClassifier
from hypermargin.estimators.neighbours import HyperbolicKNeighborsClassifier
from hypermargin.estimators.svc import HyperbolicSVC

#: Weights of the risk that margin classifiers are tried with.
CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
#: Relative gap of fits to folds, which only have to be compared.
ROUGH = 1e-3
#: Repetitions of a sample, on average, that neighbours are given for weights that are whole numbers.
MOST_REPETITIONS = 10

#: From here on folds are fewer, and only those of a family go on that do best on a part of the samples.
MANY_SAMPLES = 8000

Parameters = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Samples:
    """Training samples of one try: unit Lorentz points (n, d + 1), labels as class indices, weights or None."""

    X: Array
    labels: np.ndarray
    weight: Array | None

    @property
    def total(self) -> int:
        """Samples, repetitions that weights stand for included."""
        return len(self.labels) if self.weight is None else round(float(self.weight.sum()))

    def take(self, rows: np.ndarray) -> "Samples":
        return Samples(self.X[rows], self.labels[rows], None if self.weight is None else self.weight[rows])


class Family(ABC):
    """Classifiers of one kind that differ in parameters. Simpler families, and simpler candidates, come first.

    Attributes
    ----------
    name : str
    screened_from : int
        With more samples, candidates are compared on a part of them first.
    shares_folds : bool
        Whether work is shared by folds, which are then tried together.
    is_rigid : bool
        Whether the shape of the boundary is given. More samples help such a family least: where it is behind on a
        part of many samples, it is so on all.
    """

    name: str
    screened_from = MANY_SAMPLES
    shares_folds = False
    is_rigid = False

    @abstractmethod
    def candidates(self, samples: Samples) -> list[Parameters]:
        """Parameters to try on such samples."""

    @abstractmethod
    def model(self, parameters: Parameters) -> HyperbolicClassifier:
        """The classifier with these parameters, on the unit hyperboloid, not fitted."""

    def on_all(self, parameters: Parameters, n_samples: int) -> Parameters:
        """The parameters for all samples, where those of a candidate stood the test on a part of them."""
        return parameters

    def in_space(self, parameters: Parameters, scale: float) -> Parameters:
        """The parameters in a space whose lengths are those of the unit hyperboloid divided by `scale`."""
        return parameters

    def in_words(self, parameters: Parameters) -> str:
        """What a reader should know of the parameters."""
        return ", ".join(f"{name} = {_number(value)}" for name, value in parameters.items())

    def tasks(self, candidates: Sequence[Parameters]) -> list[list[int]]:
        """Places of the candidates that are tried together because they share work."""
        return [[place] for place in range(len(candidates))]

    def answers(
        self, candidates: Sequence[Parameters], samples: Samples, folds: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[list[Answers]]:
        """For every fold (rows to train on, rows to test) the answers of every candidate of one task."""
        return [self._on_fold(candidates, samples.take(train), samples.X[test]) for train, test in folds]

    def _on_fold(self, candidates: Sequence[Parameters], train: Samples, tested: Array) -> list[Answers]:
        models = [self.model(parameters) for parameters in candidates]
        return [_answers(self.fit(model, train.X, train.labels, train.weight), tested) for model in models]

    def takes(self, weight: Array | None) -> bool:
        """Whether classifiers of the family can be fitted with these weights of samples."""
        return True

    def fit(self, model: Any, X: Array, y: np.ndarray, weight: Array | None) -> HyperbolicClassifier:
        """Fit a classifier of the family; `weight` may be 0 for some samples."""
        return model.fit(X, y, sample_weight=weight)


class MarginFamily(Family):
    """`HyperbolicSVC`: all C of a path at once."""

    is_rigid = True

    def __init__(self, boundary: str) -> None:
        self.name = boundary

    def candidates(self, samples: Samples) -> list[Parameters]:
        return [{"C": C} for C in CS]

    def model(self, parameters: Parameters) -> HyperbolicSVC:
        return HyperbolicSVC(boundary=self.name, **parameters)

    def tasks(self, candidates: Sequence[Parameters]) -> list[list[int]]:
        """Candidates that differ in C alone go together."""
        groups: dict[str, list[int]] = {}
        for place, parameters in enumerate(candidates):
            others = {name: value for name, value in parameters.items() if name != "C"}
            groups.setdefault(repr(sorted(others.items())), []).append(place)
        return list(groups.values())

    def _on_fold(self, candidates: Sequence[Parameters], train: Samples, tested: Array) -> list[Answers]:
        rough: Parameters = {"tol": ROUGH}
        if self.name == "geodesic":
            rough["solver_options"] = {"verify": False}
        model = self.model(candidates[0]).set_params(**rough)
        Cs = [parameters.get("C", 1.0) for parameters in candidates]
        fitted = model.fit_path(train.X, train.labels, Cs, sample_weight=train.weight)
        return [_answers(each, tested) for each in fitted]


class NeighbourFamily(Family):
    """`HyperbolicKNeighborsClassifier`, which knows no weights: whole numbers are taken for repetitions."""

    name = "neighbours"

    def candidates(self, samples: Samples) -> list[Parameters]:
        most = samples.total // 2
        numbers = [k for k in (5, 15, 45) if k <= most] or [1]
        return [{"n_neighbors": k, "weights": by} for k in numbers for by in ("uniform", "distance")]

    def model(self, parameters: Parameters) -> HyperbolicKNeighborsClassifier:
        return HyperbolicKNeighborsClassifier(**parameters)

    def takes(self, weight: Array | None) -> bool:
        """Whole numbers, not so large that repetitions would fill the memory."""
        return weight is None or (
            bool(np.all(weight == np.round(weight))) and weight.sum() <= MOST_REPETITIONS * len(weight)
        )

    def fit(self, model: Any, X: Array, y: np.ndarray, weight: Array | None) -> HyperbolicClassifier:
        rows = np.arange(len(y)) if weight is None else np.repeat(np.arange(len(y)), weight.astype(int))
        return model.fit(X[rows], y[rows])


class ForestFamily(Family):
    """`HyperbolicForestClassifier`."""

    name = "forest"

    def __init__(self, seed: int, n_estimators: int) -> None:
        self.seed, self.n_estimators = seed, n_estimators

    def candidates(self, samples: Samples) -> list[Parameters]:
        return [{"min_samples_leaf": leaf} for leaf in (1, 5, 15) if 4 * leaf <= samples.total]

    def model(self, parameters: Parameters) -> HyperbolicForestClassifier:
        settings = {"n_estimators": self.n_estimators, "random_state": self.seed, **parameters}
        return HyperbolicForestClassifier(**settings)


def _answers(model: Any, tested: Array) -> Answers:
    decision = model.decision_function(tested) if hasattr(model, "decision_function") else None
    return Answers(model.predict_proba(tested), decision)


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
