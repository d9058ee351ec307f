"""The paper's numbers, transcribed from its tables."""

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

#: The C of the paper's aggregated tables: for each method the one with the highest weighted F1 score.
BEST = "best"


@dataclass(frozen=True)
class PaperCell:
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


@lru_cache(maxsize=1)
def paper_cells() -> tuple[PaperCell, ...]:
    """Every cell of the paper's tables of performance and runtime."""
    content = json.loads(
        files("hypermargin_studies.reproduction").joinpath("paper_tables.json").read_text(encoding="utf-8")
    )
    return tuple(PaperCell(**dict(zip(content["fields"], row, strict=True))) for row in content["rows"])


@lru_cache(maxsize=1)
def _by_place() -> dict[tuple[str, str, float | str | None, str, str], PaperCell]:
    return {(cell.dataset, cell.scheme, cell.C, cell.method, cell.metric): cell for cell in paper_cells()}


def paper_cell(dataset: str, scheme: str, C: float | str | None, method: str, metric: str) -> PaperCell | None:
    """The paper's number for this place, if it has one. Runtimes have no C: the paper gives one for all."""
    return _by_place().get((dataset, scheme, None if metric == "seconds" else C, method, metric))


@cache
def in_paper(dataset: str, scheme: str) -> bool:
    """Whether the paper has accuracies for this data set in this scheme."""
    return any(c.dataset == dataset and c.scheme == scheme and c.metric == "test_accuracy" for c in paper_cells())


def best_hyperbolic(dataset: str, metric: str = "test_accuracy") -> PaperCell | None:
    """The paper's highest value for a data set over its three methods and both schemes, in the aggregated tables."""
    cells = [c for c in paper_cells() if c.dataset == dataset and c.metric == metric and _is_headline(c)]
    return max(cells, key=lambda cell: cell.mean, default=None)


def _is_headline(cell: PaperCell) -> bool:
    return cell.C == BEST or cell.table == "tab:synthetic_performance"
