"""From the records of cells to means over folds, and to the gaps to the certified optimum."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from hypermargin.solvers import relative_gap
from hypermargin.solvers.paper.extraction import paper_eta
from hypermargin_studies import datasets as data
from hypermargin_studies.engine.cells import FINISHED
from hypermargin_studies.reproduction.cells import Cell
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE, get_method
from hypermargin_studies.reproduction.paper import BEST, Stat

#: An answer is called good where its objective is within this of the certified optimum.
CLOSE = 1e-3
#: Data set, scheme, C and method.
Place = tuple[str, str, float | None, str]
place_of: Callable[[Cell], Place] = attrgetter("dataset", "scheme", "C", "method")
#: A binary problem: data set, scheme, C, fold and number within the scheme.
Problem = tuple[str, str, float | None, int, int]


class Summary:
    """Results by place: data set, scheme, C and method, in this order wherever they are arguments."""

    def __init__(self, results: Iterable[tuple[Cell, dict[str, Any]]]) -> None:
        results, self._folds = list(results), dict[Place, dict[int, dict[str, Any]]]()
        finished = [(cell, record) for cell, record in results if record["state"] == FINISHED]
        self.holes = [(cell, record) for cell, record in results if record["state"] != FINISHED]
        self.n_cells = len(finished)
        for cell, record in finished:
            self._folds.setdefault(place_of(cell), {}).update({fold["fold"]: fold for fold in record["folds"]})
        self._holes = {place_of(cell): str(record["state"]) for cell, record in reversed(self.holes)}
        self._places = {*self._folds, *self._holes}

    def places(self) -> list[Place]:
        """All places with at least one fold."""
        return list(self._folds)

    def methods(self) -> list[str]:
        """The methods that have results or holes, in the order of the table of methods."""
        present = {place[3] for place in self._places}
        return [name for name in METHODS if name in present]

    def judged_methods(self) -> list[str]:
        """Methods for the paper's problem that the certified optimum can judge, itself left out."""
        return [name for name in self.methods() if METHODS[name].is_constrained and name != REFERENCE]

    def datasets(self) -> set[str]:
        return {place[0] for place in self._places}

    def table_datasets(self) -> list[str]:
        """The data sets of the paper's tables that the run has."""
        return [name for name in (*data.SYNTHETIC, *data.REAL) if name in self.datasets()]

    def values_of_C(self, dataset: str) -> list[float]:
        return sorted({place[2] for place in self._places if place[0] == dataset and place[2]})

    def folds(self, *place: Any) -> dict[int, dict[str, Any]]:
        """Records by number of fold; empty where there are none."""
        return self._folds.get(_answering(*place), {})

    def hole(self, *place: Any) -> str | None:
        """Why there is no result: "failed", "time limit", "skipped"; None where the plan did not have it."""
        return self._holes.get(_answering(*place))

    def devices(self, *place: Any) -> set[str | None]:
        """The accelerators on which folds of this place were fitted; None is among them if some were on a processor."""
        return {record.get("device") for record in self.folds(*place).values()}

    def stat(self, dataset: str, scheme: str, C: float | str | None, method: str, metric: str) -> Stat | None:
        """Mean and deviation of a metric; None where a fold lacks it. C may be "best" (see `best_C`)."""
        value = self.best_C(dataset, scheme, method) if C == BEST else C
        folds = self.folds(dataset, scheme, value, method)
        numbers = [record.get(metric) for record in folds.values()]
        if metric == "eta" and method == REFERENCE:
            numbers = [_eta_of_optimum(record) for record in folds.values()]
        elif metric == "gap":
            reference = self.folds(dataset, scheme, value, REFERENCE)
            numbers = [_fold_gap(method, record, reference.get(number)) for number, record in folds.items()]
        kept = [number for number in numbers if number is not None]
        return Stat.of(kept) if kept and len(kept) == len(numbers) else None

    def best_C(self, dataset: str, scheme: str, method: str) -> float | None:
        """The C with the highest mean weighted F1 score on the test folds, as in the paper's aggregated tables."""
        scores = {C: self.stat(dataset, scheme, C, method, "test_f1") for C in self.values_of_C(dataset)}
        # Equal scores are common, as some answers hardly depend on C; the paper then shows the largest.
        choices = [(round(score.mean, 12), C) for C, score in scores.items() if score is not None]
        return max(choices)[1] if choices else None

    def problem_gaps(self, dataset: str, scheme: str, C: float | None, method: str) -> dict[Problem, float]:
        """Relative excess of every binary problem's hinge objective over the certified lower bound; inf: timelike."""
        reference, gaps = self.folds(dataset, scheme, C, REFERENCE), dict[Problem, float]()
        for number, record in self.folds(dataset, scheme, C, method).items():
            if number in reference and record.get("objective_hinge"):
                pairs = zip(record["objective_hinge"], reference[number]["lower_bound"], strict=True)
                gaps |= {(dataset, scheme, C, number, k): gap_of(*pair) for k, pair in enumerate(pairs)}
        return gaps

    def method_gaps(self, method: str) -> dict[Problem, float]:
        """Gaps of all problems that a method finished; those of two classes are in both schemes, and once here."""
        places = [place for place in self._folds if place[3] == method]
        return {problem: gap for place in places for problem, gap in self.problem_gaps(*place).items()}

    def comparison(self) -> "Comparison":
        """The gaps of the methods that can be judged on the problems that all of them finished.

        A method that finished few would leave the others little to be compared on. So "all" are the most complete
        methods, as many as make the largest table: methods times common problems. Each of the rest has an entry in
        `apart`: its own gaps and those of the others, on the problems that these have in common with it.
        """
        found = {name: gaps for name in self.judged_methods() if (gaps := self.method_gaps(name))}
        by_size = sorted(found, key=lambda name: -len(found[name]))
        shared = [set.intersection(*(set(found[name]) for name in by_size[: k + 1])) for k in range(len(by_size))]
        most = max(range(len(shared)), key=lambda k: (k + 1) * len(shared[k]), default=-1)
        together = [name for name in found if name in by_size[: most + 1]]
        beside = {name: _on_same(found, [name, *together]) for name in found if name not in together}
        finished = {name: len(gaps) for name, gaps in found.items()}
        own = {name: gaps for name, gaps in beside.items() if gaps[name].size}
        return Comparison(_on_same(found, together) if together else {}, finished, own)


class Comparison(NamedTuple):
    """Gaps by method, arrays over the same `n_problems` problems; `apart` has the methods that finished fewer."""

    gaps: dict[str, np.ndarray]
    finished: dict[str, int]
    apart: dict[str, dict[str, np.ndarray]]

    @property
    def n_problems(self) -> int:
        return next((gaps.size for gaps in self.gaps.values()), 0)


def _on_same(found: dict[str, dict[Problem, float]], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Gaps of the methods `names` on the problems that all of them finished, in one order."""
    shared = set.intersection(*(set(found[name]) for name in names))
    order = [problem for problem in found[names[0]] if problem in shared]
    return {name: np.array([found[name][problem] for problem in order]) for name in names}


def gap_of(value: float | None, bound: float | None) -> float:
    """The relative gap of an objective to a bound, either of which may be missing."""
    return relative_gap(np.inf if value is None else value, -np.inf if bound is None else bound)


def _fold_gap(method: str, record: dict[str, Any], reference: dict[str, Any] | None) -> float | None:
    """Relative excess of the summed objective over the summed bounds: certified ones, of the same problem."""
    own = METHODS[method]
    judge = reference if own.is_constrained else record
    if not own.is_margin or judge is None or record["train_hinge"] is None or None in judge["lower_bound"]:
        return None
    return relative_gap(record["train_hinge"], float(np.sum(judge["lower_bound"])))


def _eta_of_optimum(record: dict[str, Any]) -> float | None:
    """The paper's eta of the certified optimum: what is left of it when nothing is left to gain."""
    pairs = list(zip(record["objective_asinh"], record["lower_bound"], strict=True))
    return None if any(None in pair for pair in pairs) else float(np.mean([paper_eta(*pair) for pair in pairs]))


def _answering(dataset: str, scheme: str, C: float | None, method: str) -> Place:
    """The place whose cell answers for this scheme and C."""
    return place_of(Cell.of(dataset, scheme, C, get_method(method), ()))
