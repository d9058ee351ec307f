"""Samples in pieces as the search in many dimensions asks for them: those near the margin come here, the others stay.

A few reads of the data stand for the hundreds of passes that plain cuts take: one for a first look at a random part of
the samples, and two for every working set, which comes into memory where there is room for it. Which samples a set has
is a rule, a point and the least and largest margin there, so that pieces need not remember any. Samples are called by
their fingerprints: the same ones in every data source.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.certificates.fingerprints import sample_names
from hypermargin.data.inputs import free_memory
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.working_sets import Margins, Turned, WorkingSet, reach_of, shares_of_look, window

#: A working set may take this share of the free memory, with so many copies of it.
SHARE_OF_MEMORY, COPIES = 0.2, 4

#: ``(risk, b, g)``, without the common factor.
Cut = tuple[float, float, Array]


class Rule(NamedTuple):
    """Samples whose margins at w are between `low` and `high`; those below are taken to be below the margin."""

    w: Array
    low: float
    high: float


class Some(NamedTuple):
    """Samples by name, with columns and costs, each with a mark."""

    names: NDArray[np.int64]
    columns: Array
    costs: Array
    marks: NDArray[np.bool_]

    @classmethod
    def together(cls, parts: list["Some"]) -> "Some":
        """Those of all pieces in the order of their names; equal samples are one of their common cost."""
        joined = cls(*(np.concatenate(values, axis=-1) for values in zip(*parts, strict=True)))
        names, first, which = np.unique(joined.names, return_index=True, return_inverse=True)
        columns, marks = np.ascontiguousarray(joined.columns[:, first]), joined.marks[first]
        costs = np.bincount(which, joined.costs, names.size).astype(np.float64, copy=False)
        return cls(names, columns, costs, marks)


class BlockedWorkingSets:
    """The samples of a problem in pieces; `ask` puts a question to every piece in the frame.

    `sizes` are the numbers of positive and negative samples, `factor` is that of all costs. `remember` is told the cut
    at a point whenever a read has made it.
    """

    reads_a_pass = 1.0
    named = True

    def __init__(
        self,
        ask: Callable[..., list[Any]],
        sizes: tuple[int, int],
        width: int,
        factor: float,
        threshold: float,
        remember: Callable[[Array, list[Cut]], None],
    ):
        self.reads = 0.0
        self._ask, self._sizes, self._width, self._factor = ask, sizes, width, factor
        self._threshold, self._remember = threshold, remember
        self._everything: WorkingSet | None = None
        self._seen, self._stands_for = np.zeros((width, 0)), np.zeros(0)

    def first_look(self) -> WorkingSet | None:
        shares = shares_of_look(self._width, self._sizes)
        if shares is None or np.dot(shares, self._sizes) > self._room:
            return None
        self.reads += 1.0
        answers = self._ask(_look, shares)
        some, totals = Some.together([part for part, _ in answers]), np.sum([sums for _, sums in answers], axis=0)
        self._seen, costs = some.columns, self._factor * some.costs
        self._stands_for = np.empty(costs.size)
        for members, total, size in zip((some.marks, ~some.marks), totals, self._sizes, strict=True):
            costs[members] *= total / max(float(some.costs[members].sum()), 1e-300)
            self._stands_for[members] = size / max(1, int(np.count_nonzero(members)))
        return WorkingSet(some.names, some.columns, costs, (0.0, np.zeros(self._width)))

    def margins(self, w: Array) -> Margins:
        """Of the samples of the first look."""
        return Margins(w, w @ self._seen)

    def reach(self, margins: Margins) -> float:
        return reach_of(self._width, margins.values, margins.values)

    def around(self, margins: Margins | None, reach: float) -> WorkingSet | None:
        rule, expected = Rule(np.zeros(self._width), -np.inf, np.inf), float(sum(self._sizes))
        if margins is not None and self._stands_for.size:
            low, high = window(margins.values, reach, self._width, self._stands_for)
            rule = Rule(margins.w, low, high)
            expected = float(self._stands_for @ ((low <= margins.values) & (margins.values <= high)))
        everything = rule.low == -np.inf and rule.high == np.inf
        if everything and self._everything is not None:
            return self._everything
        if expected > self._room:
            return None
        self.reads += 1.0
        answers = self._ask(_within, rule)
        some = Some.together([part for part, _ in answers])
        b, *g = self._factor * np.sum([sums for _, sums in answers], axis=0)
        chosen = WorkingSet(
            some.names, some.columns, self._factor * some.costs, (b, -np.array(g)), is_everything=everything, rest=rule
        )
        if everything:
            self._everything = chosen
            if not self._stands_for.size:
                self._seen, self._stands_for = chosen.columns, np.ones(chosen.costs.size)
        return chosen

    def turned(self, chosen: WorkingSet, margins: Margins) -> Turned | None:
        """One read, which makes the pass at the point as well."""
        most = min(1.0, self._room / sum(self._sizes))
        answers = self._ask(_turned, margins.w, chosen.rest, self._threshold, most)
        self._remember(margins.w, [cut for cut, _ in answers])
        parts = [part for _, part in answers if part is not None]
        if len(parts) < len(answers):
            return None
        some = Some.together(parts)
        new = ~np.isin(some.names, chosen.samples)  # an equal sample may be in the set by the last bit of its margin
        return Turned(some.names[new], some.columns[:, new], self._factor * some.costs[new], some.marks[new])

    @property
    def _room(self) -> float:
        """How many samples there is room for."""
        return SHARE_OF_MEMORY * free_memory() / (8.0 * self._width * COPIES)

    def share_read(self, chosen: WorkingSet) -> float:
        """Working sets are here, and to read them is no read of the data."""
        return 0.0

    def names(self, samples: NDArray[np.int64]) -> NDArray[np.int64]:
        return samples


# -- questions to a piece ----------------------------------------------------------------------------------------------


class Framed(Protocol):
    """A piece with its samples in the frame, (d + 1, n) and (n,), and the pass over it."""

    @property
    def piece(self) -> MarginProblem: ...

    @property
    def framed(self) -> tuple[Array, Array]: ...

    def __call__(self, W: Array) -> list[Cut]: ...


def _some(of: Framed, chosen: NDArray[np.bool_], marks: NDArray[np.bool_]) -> Some:
    """Those chosen that have costs."""
    columns, costs = of.framed
    rows = np.flatnonzero(chosen & (costs > 0.0))
    return Some(sample_names(of.piece, rows), columns[:, rows], costs[rows], marks[rows])


def _look(of: Framed, shares: tuple[float, float]) -> tuple[Some, Array]:
    """A random part of the positive and of the negative samples, the first marked, and the costs of all of either."""
    columns, costs = of.framed
    positive = columns[0] > 0.0  # z_i0 has the sign of y_i
    drawn = np.random.default_rng(0).random(costs.size) < np.where(positive, *shares)
    return _some(of, drawn, positive), np.array([costs[positive].sum(), costs[~positive].sum()])


def _within(of: Framed, rule: Rule) -> tuple[Some, Array]:
    """The samples of a rule, and the sums of ``(k_i, k_i z_i)`` over those below them."""
    columns, costs = of.framed
    margins = rule.w @ columns
    chosen = (rule.low <= margins) & (margins <= rule.high)
    pull = np.where(margins < rule.low, costs, 0.0)
    return _some(of, chosen, chosen), np.append(pull.sum(), columns @ pull)


def _turned(of: Framed, w: Array, rule: Rule, threshold: float, most: float) -> tuple[Cut, Some | None]:
    """The pass at w, and samples outside a rule that it is wrong about there, marked where the plain cut takes them.

    None instead of the samples if they are more than the share `most` of the piece.
    """
    columns, _ = of.framed
    margins, taken = rule.w @ columns, w @ columns < threshold
    wrong = ((margins < rule.low) & ~taken) | ((margins > rule.high) & taken)
    few = np.count_nonzero(wrong) <= most * wrong.size
    return of(w[None])[0], _some(of, wrong, taken) if few else None
