"""Gaps of several methods on the same binary problems: what a method did not finish, none of them is judged by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hypermargin_studies.reproduction.summary import Problem, Summary


@dataclass(frozen=True, eq=False)
class Comparison:
    """Gaps by method, arrays over the same `n_problems` problems; `apart` has the methods that finished fewer."""

    gaps: dict[str, np.ndarray]
    finished: dict[str, int]
    apart: dict[str, dict[str, np.ndarray]]

    @property
    def n_problems(self) -> int:
        return next((gaps.size for gaps in self.gaps.values()), 0)


def compare_on_common_problems(summary: Summary, methods: Sequence[str]) -> Comparison:
    """The gaps of methods on the problems that all of them finished.

    A method that finished few would leave the others little to be compared on. So "all" are the most complete methods,
    as many as make the largest table: methods times common problems. Each of the rest has an entry in `apart`: its own
    gaps and those of the others, on the problems that these have in common with it.
    """
    found = {name: gaps for name in methods if (gaps := method_gaps(summary, name))}
    by_size = sorted(found, key=lambda name: -len(found[name]))
    shared: list[set[Problem]] = []
    for name in by_size:
        shared.append(set(found[name]) & shared[-1] if shared else set(found[name]))
    sizes = [(k + 1) * len(problems) for k, problems in enumerate(shared)]
    size = max(range(len(sizes)), key=sizes.__getitem__) + 1 if sizes else 0
    together = [name for name in found if name in by_size[:size]]
    apart = {name: _on_same(found, [name, *together]) for name in found if name not in together}
    return Comparison(
        _on_same(found, together),
        {name: len(gaps) for name, gaps in found.items()},
        {name: gaps for name, gaps in apart.items() if gaps[name].size},
    )


def method_gaps(summary: Summary, method: str) -> dict[Problem, float]:
    """Gaps of all problems that a method finished; those of two classes are in both schemes, and once here."""
    gaps: dict[Problem, float] = {}
    for place in summary.places():
        if place[3] == method:
            gaps |= summary.gaps_by_problem(*place)
    return gaps


def _on_same(found: dict[str, dict[Problem, float]], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Gaps of the methods `names` on the problems that all of them finished, in one order."""
    if not names:
        return {}
    shared = set.intersection(*(set(found[name]) for name in names))
    order = [problem for problem in found[names[0]] if problem in shared]
    return {name: np.array([found[name][problem] for problem in order]) for name in names}
