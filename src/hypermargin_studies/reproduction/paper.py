"""The paper's numbers, transcribed from its tables, and why ours differ from some of them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from hypermargin_studies.datasets import N_FOLDS
from hypermargin_studies.engine.report import Note

#: The C of the paper's aggregated tables: for each method the one with the highest weighted F1 score.
BEST = "best"


class Stat(NamedTuple):
    """Mean and standard deviation (of the folds, as the paper has it) over `n_folds` folds."""

    mean: float
    std: float
    n_folds: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Stat":
        numbers = np.array(list(values), dtype=np.float64)
        return cls(float(numbers.mean()), float(numbers.std()), numbers.size)


class PaperCell(NamedTuple):
    """A number of the paper; `std` is None where it gives none, `rounding` is half a unit of its last digit."""

    table: str
    dataset: str
    scheme: str
    C: float | str | None
    method: str
    metric: str
    mean: float
    std: float | None
    rounding: float


def _read(name: str) -> Any:
    return json.loads(files("hypermargin_studies.reproduction").joinpath(name).read_text(encoding="utf-8"))


@cache
def paper_cells() -> tuple[PaperCell, ...]:
    """Every cell of the paper's tables of performance and runtime."""
    return tuple(PaperCell(*row) for row in _read("paper_tables.json")["rows"])


@cache
def _by_place() -> dict[tuple, PaperCell]:
    return {(cell.dataset, cell.scheme, cell.C, cell.method, cell.metric): cell for cell in paper_cells()}


def paper_cell(dataset: str, scheme: str, C: float | str | None, method: str | None, metric: str) -> PaperCell | None:
    """The paper's number for this place, if it has one. Runtimes have no C: the paper gives one for all."""
    return _by_place().get((dataset, scheme, None if metric == "seconds" else C, method, metric))


@cache
def in_paper(dataset: str, scheme: str) -> bool:
    """Whether the paper has accuracies for this data set in this scheme."""
    return any(c.dataset == dataset and c.scheme == scheme and c.metric == "test_accuracy" for c in paper_cells())


def best_hyperbolic(dataset: str, metric: str = "test_accuracy") -> PaperCell | None:
    """The paper's highest value for a data set over its three methods and both schemes, in the aggregated tables."""
    cells = [c for c in paper_cells() if c.dataset == dataset and c.metric == metric]
    headline = [c for c in cells if c.C == BEST or c.table == "tab:synthetic_performance"]
    return max(headline, key=lambda cell: cell.mean, default=None)


@dataclass(frozen=True, eq=False)
class Explanation(Note):
    """Why a number differs from the paper's, and where that applies: nothing named is everywhere."""

    dataset: Sequence[str] = ()
    scheme: Sequence[str] = ()
    method: Sequence[str] = ()
    metric: Sequence[str] = ()

    def fits(self, cell: PaperCell, method: str) -> bool:
        """Whether it explains this number of the paper beside that of our `method`."""
        place = {"dataset": cell.dataset, "scheme": cell.scheme, "method": method, "metric": cell.metric}
        return all(value in (getattr(self, name) or (value,)) for name, value in place.items())


UNEXPLAINED = Explanation("?", "Not explained yet.")


@cache
def explanations() -> tuple[Explanation, ...]:
    """All texts, the most specific first."""
    return tuple(Explanation(**about) for about in _read("explanations.json"))


def explain(cell: PaperCell, method: str) -> Explanation:
    """The first explanation that fits."""
    return next((entry for entry in explanations() if entry.fits(cell, method)), UNEXPLAINED)


def apart(ours: Stat, cell: PaperCell) -> float:
    """How far apart two means are, beyond the paper's rounding, in units of the larger standard deviation."""
    distance = max(abs(ours.mean - cell.mean) - cell.rounding, 0.0)
    deviation = max(ours.std, cell.std or 0.0)
    return distance / deviation if deviation > 0.0 else (0.0 if distance == 0.0 else float("inf"))


def differs(ours: Stat, cell: PaperCell) -> bool:
    """Whether the two means are more than a standard deviation apart.

    A mean over fewer folds than the paper's is no evidence of a difference.
    """
    return ours.n_folds == N_FOLDS and apart(ours, cell) > 1.0
