"""Gaps of several methods on the same binary problems: what a method did not finish, none of them is judged by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hypermargin.reproduction.summary import Problem, Summary

#: A method that finished less than this share of what the most complete one did is compared apart, lest the problems
#: that all have in common be few.
ENOUGH = 0.5


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

    Methods with few problems are not among "all". Each has an entry in `apart`: its own gaps and those of the others,
    on the problems that these have in common with it.
    """
    found = {name: gaps for name in methods if (gaps := method_gaps(summary, name))}
    most = max(map(len, found.values()), default=0)
    together = [name for name, gaps in found.items() if len(gaps) >= ENOUGH * most]
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
