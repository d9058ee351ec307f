"""Why a number differs from the paper's: texts by data set, scheme, method and metric; the first that fits counts."""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from hypermargin.datasets.by_name import N_FOLDS
from hypermargin_studies.reproduction.paper import PaperCell
from hypermargin_studies.reproduction.summary import Stat


@dataclass(frozen=True)
class Explanation:
    """A text and where it applies; an empty tuple is everywhere."""

    name: str
    text: str
    dataset: tuple[str, ...] = ()
    scheme: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    metric: tuple[str, ...] = ()

    def fits(self, cell: PaperCell, method: str) -> bool:
        """Whether it explains this number of the paper beside that of our `method`."""
        wanted = ((self.dataset, cell.dataset), (self.scheme, cell.scheme), (self.method, method))
        return all(not allowed or value in allowed for allowed, value in (*wanted, (self.metric, cell.metric)))


#: The text for a difference that nobody has explained yet.
UNEXPLAINED = Explanation("?", "Not explained yet.")


@lru_cache(maxsize=1)
def explanations() -> tuple[Explanation, ...]:
    """All texts, the most specific first."""
    content = json.loads(
        files("hypermargin_studies.reproduction.report").joinpath("explanations.json").read_text(encoding="utf-8")
    )
    places = ("dataset", "scheme", "method", "metric")
    return tuple(
        Explanation(entry["name"], entry["text"], *(tuple(entry.get(place, ())) for place in places))
        for entry in content
    )


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
