"""From the records of cells to means over folds, and to the gaps to the certified optimum."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hypermargin.datasets.by_name import class_sizes
from hypermargin.solvers import relative_gap
from hypermargin.solvers.relaxations.extraction import paper_eta
from hypermargin_studies.reproduction.cache import FINISHED
from hypermargin_studies.reproduction.cells import OWN_SCHEME, Cell
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE, get_method
from hypermargin_studies.reproduction.paper import BEST

#: An answer is called good where its objective is within this of the certified optimum.
CLOSE = 1e-3
Place = tuple[str, str, float | None, str]
#: A binary problem: data set, scheme, C, fold and number within the scheme.
Problem = tuple[str, str, float | None, int, int]


@dataclass(frozen=True)
class Stat:
    """Mean and standard deviation (of the folds, as the paper has it) over `n_folds` folds."""

    mean: float
    std: float
    n_folds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Stat":
        numbers = np.array(list(values), dtype=np.float64)
        return cls(float(numbers.mean()), float(numbers.std()), numbers.size)


class Summary:
    """Results by place: data set, scheme, C and method."""

    def __init__(self, results: Iterable[tuple[Cell, dict[str, Any]]]) -> None:
        self._folds: dict[Place, dict[int, dict[str, Any]]] = {}
        self.holes: list[tuple[Cell, dict[str, Any]]] = []
        self._holes: dict[Place, str] = {}
        self.n_cells = 0
        for cell, record in results:
            place = (cell.dataset, cell.scheme, cell.C, cell.method)
            if record["state"] == FINISHED:
                self.n_cells += 1
                self._folds.setdefault(place, {}).update({fold["fold"]: fold for fold in record["folds"]})
            else:
                self.holes.append((cell, record))
                self._holes.setdefault(place, str(record["state"]))

    # -- what there is ------------------------------------------------------------------------------------------------

    def places(self) -> list[Place]:
        """All places with at least one fold."""
        return list(self._folds)

    def methods(self) -> list[str]:
        """The methods that have results or holes, in the order of the table of methods."""
        present = {place[3] for place in (*self._folds, *self._holes)}
        return [name for name in METHODS if name in present]

    def datasets(self) -> set[str]:
        return {place[0] for place in (*self._folds, *self._holes)}

    def values_of_C(self, dataset: str) -> list[float]:
        return sorted({place[2] for place in (*self._folds, *self._holes) if place[0] == dataset and place[2]})

    def folds(self, dataset: str, scheme: str, C: float | None, method: str) -> dict[int, dict[str, Any]]:
        """Records by number of fold; empty where there are none."""
        return self._folds.get(_place(dataset, scheme, C, method), {})

    def hole(self, dataset: str, scheme: str, C: float | None, method: str) -> str | None:
        """Why there is no result: "failed", "time limit", "skipped"; None where it was not asked for."""
        return self._holes.get(_place(dataset, scheme, C, method))

    def devices(self, dataset: str, scheme: str, C: float | None, method: str) -> set[str | None]:
        """The accelerators on which folds of this place were fitted; None is among them if some were on a processor."""
        return {record.get("device") for record in self.folds(dataset, scheme, C, method).values()}

    # -- numbers ------------------------------------------------------------------------------------------------------

    def stat(self, dataset: str, scheme: str, C: float | str | None, method: str, metric: str) -> Stat | None:
        """Mean and deviation of a metric; None where a fold lacks it. C may be "best" (see `best_C`)."""
        value = self.best_C(dataset, scheme, method) if C == BEST else C
        assert not isinstance(value, str)
        folds = self.folds(dataset, scheme, value, method)
        if metric == "eta" and method == REFERENCE:
            numbers = [_eta_of_optimum(record) for record in folds.values()]
        elif metric == "gap":
            numbers = [self._fold_gap(dataset, scheme, value, method, number) for number in folds]
        else:
            numbers = [record.get(metric) for record in folds.values()]
        kept = [number for number in numbers if number is not None]
        return Stat.of(kept) if kept and len(kept) == len(numbers) else None

    def best_C(self, dataset: str, scheme: str, method: str) -> float | None:
        """The C with the highest mean weighted F1 score on the test folds, as in the paper's aggregated tables."""
        choices = []
        for C in self.values_of_C(dataset):
            score = self.stat(dataset, scheme, C, method, "test_f1")
            if score is not None:
                choices.append((score.mean, C))
        # Equal scores are common, as some answers hardly depend on C; the paper then shows the largest.
        return max((round(score, 12), C) for score, C in choices)[1] if choices else None

    def problem_gaps(self, dataset: str, scheme: str, C: float | None, method: str) -> list[float]:
        """Relative excess of every binary problem's hinge objective over the certified lower bound; inf: timelike."""
        return list(self.gaps_by_problem(dataset, scheme, C, method).values())

    def gaps_by_problem(self, dataset: str, scheme: str, C: float | None, method: str) -> dict[Problem, float]:
        """`problem_gaps`, each with what names the binary problem, so that methods can be compared on the same ones."""
        reference = self.folds(dataset, scheme, C, REFERENCE)
        gaps = {}
        for number, record in self.folds(dataset, scheme, C, method).items():
            if number in reference and record.get("objective_hinge"):
                bounds = reference[number]["lower_bound"]
                for k, (value, bound) in enumerate(zip(record["objective_hinge"], bounds, strict=True)):
                    gaps[dataset, scheme, C, number, k] = relative_gap(
                        np.inf if value is None else value, -np.inf if bound is None else bound
                    )
        return gaps

    def _fold_gap(self, dataset: str, scheme: str, C: float | None, method: str, number: int) -> float | None:
        """Relative excess of the summed objective over the summed bounds: certified ones, of the same problem."""
        record = self.folds(dataset, scheme, C, method)[number]
        own = get_method(method)
        judge = record if not own.is_constrained else self.folds(dataset, scheme, C, REFERENCE).get(number)
        if not own.is_margin or judge is None or record["train_hinge"] is None or None in judge["lower_bound"]:
            return None
        return relative_gap(record["train_hinge"], float(np.sum(judge["lower_bound"])))


def _eta_of_optimum(record: dict[str, Any]) -> float | None:
    """The paper's eta of the certified optimum: what is left of it when nothing is left to gain."""
    pairs = list(zip(record["objective_asinh"], record["lower_bound"], strict=True))
    if any(None in pair for pair in pairs):
        return None
    return float(np.mean([paper_eta(value, bound) for value, bound in pairs]))


def _place(dataset: str, scheme: str, C: float | None, method: str) -> Place:
    chosen = get_method(method)
    if not chosen.is_margin:
        scheme = OWN_SCHEME
    elif len(class_sizes(dataset)) == 2:
        scheme = "ovo"
    return dataset, scheme, C if chosen.uses_C else None, method
