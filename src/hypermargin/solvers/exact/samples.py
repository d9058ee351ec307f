"""What the search in many dimensions asks of the samples: a first look, working sets, and who changed sides.

`SamplesInMemory` answers from arrays; `spread_samples` asks pieces elsewhere.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.solvers.exact.working_set import WorkingSet, around_margin, everything, first_look, reach_of

#: The share of samples whose margins tell how far margins move.
ALL_BUT_FEW = 0.99


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins at a point w: of all samples, or of as many as tell how margins move."""

    w: Array
    values: Array

    def move_from(self, before: "Margins") -> float:
        """The most that margins have moved, but for a few."""
        return float(np.quantile(np.abs(self.values - before.values), ALL_BUT_FEW))


@dataclass(frozen=True, eq=False)
class Turned:
    """Samples outside a working set that the plain cut at some point takes and the set does not, or the reverse."""

    samples: NDArray[np.intp]
    columns: Array
    costs: Array
    taken: NDArray[np.bool_]  # by the plain cut


class Samples(Protocol):
    """The samples, wherever they are."""

    #: How often all of them have been read, and how many such reads are worth a pass.
    reads: float
    reads_a_pass: float
    #: Whether `names` are fingerprints, not rows.
    named: bool

    def first_look(self) -> WorkingSet | None:
        """A random part of each class, with its costs scaled to the total of the class; None where samples are few."""

    def margins(self, w: Array) -> Margins: ...

    def reach(self, margins: Margins) -> float:
        """About how far margins will move from these, which are those at the optimum of the first look."""

    def around(self, margins: Margins | None, reach: float) -> WorkingSet | None:
        """The samples near the margin, without margins all of them; None where there is no room for so many."""

    def turned(self, chosen: WorkingSet, margins: Margins) -> Turned | None:
        """Those that have turned where the margins are these; asked before the pass at that point. None if too many."""

    def share_read(self, chosen: WorkingSet) -> float:
        """What reading a working set counts, in reads of all samples."""

    def names(self, samples: NDArray[np.intp]) -> NDArray[np.intp]:
        """What a certificate calls these samples."""


class SamplesInMemory:
    """Samples as arrays: columns z_i, shape (d + 1, n), and costs k_i. Those without costs are left out."""

    reads_a_pass = 2.0
    named = False

    def __init__(self, columns: Array, costs: Array, threshold: float):
        self.reads = 0.0
        self._rows = np.flatnonzero(costs > 0.0)
        if self._rows.size < costs.size:
            columns, costs = columns[:, self._rows], costs[self._rows]
        self._columns, self._costs, self._threshold = columns, costs, threshold
        self._look: WorkingSet | None = None

    def first_look(self) -> WorkingSet | None:
        self._look = first_look(self._columns, self._costs)
        return self._look

    def margins(self, w: Array) -> Margins:
        self.reads += 1.0
        return Margins(w, w @ self._columns)

    def reach(self, margins: Margins) -> float:
        of_look = margins.values if self._look is None else margins.values[self._look.samples]
        return reach_of(len(self._columns), margins.values, of_look)

    def around(self, margins: Margins | None, reach: float) -> WorkingSet:
        if margins is None:
            return everything(self._columns, self._costs)
        return around_margin(self._columns, self._costs, margins.values, reach)

    def turned(self, chosen: WorkingSet, margins: Margins) -> Turned:
        taken = margins.values < self._threshold
        wrong = taken != chosen.rest
        wrong[chosen.samples] = False
        rows = np.flatnonzero(wrong)
        return Turned(rows, self._columns[:, rows], self._costs[rows], taken[rows])

    def share_read(self, chosen: WorkingSet) -> float:
        return chosen.samples.size / self._costs.size

    def names(self, samples: NDArray[np.intp]) -> NDArray[np.intp]:
        return self._rows[samples]
