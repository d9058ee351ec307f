"""Safe screening: samples whose side of the margin is settled for all w of a box take part as one affine term.

For ``|w_j - c_j| <= r_j`` the margin of a sample differs from that at c by at most ``sum_j |z_j| r_j``. So if it is
farther than that from 1 at c, its hinge is 0, or affine, in the whole box. A pass at a w in the box then reads the
other samples only, and its risk and cut are those of a pass over all samples; for other w all samples are read. Nothing
rests on the box being well chosen but the time.

A search asks for points nearer and nearer to the optimum, so boxes shrink, and with them the samples that are left. A
search over a small part of the data says beforehand where they will be.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array, row_blocks
from hypermargin.solvers.exact.compiled.passes import LANES

#: Relative and absolute room for rounding, beyond the slack of the oracle's threshold.
ROOM = 4e-9
#: A box is this many times as wide as most of the points it is made around.
WIDE, MOST = 3.0, 0.75
#: Samples to estimate the share of those that are not settled from.
SAMPLE = 4096


@dataclass(frozen=True, eq=False)
class Box:
    """All w with ``|w_j - centre_j| <= radii_j``."""

    centre: Array
    radii: Array

    @classmethod
    def around(cls, centre: Array, points: Array) -> "Box":
        """A box around `centre` that holds most of the points, shape (m, d + 1), with room."""
        if not len(points):
            return cls(centre, np.zeros_like(centre))
        away = np.sort(np.abs(points - centre), axis=0)
        return cls(centre, WIDE * away[round(MOST * (len(points) - 1))] + 1e-12)  # a quantile without its overhead

    def is_within(self, other: "Box") -> bool:
        return bool(np.all(np.abs(self.centre - other.centre) + self.radii <= other.radii))

    def open_samples(self, columns: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Margins at the centre, and which samples are within reach of the margin; both of shape (n,)."""
        margins = self.centre @ columns
        reach = self.radii @ np.abs(columns)
        return margins, np.abs(margins - 1.0) <= reach * (1.0 + ROOM) + ROOM

    def estimated_share(self, known: "Screened") -> float:
        """About the share of all samples that would be left open."""
        columns = known.points[:, : known.costs.size : max(1, known.costs.size // SAMPLE)]
        return known.share * float(np.mean(self.open_samples(np.ascontiguousarray(columns))[1]))


@dataclass(frozen=True, eq=False)
class Screened:
    """The samples that a box leaves open, padded as `Pass` takes them, and the affine term of the others."""

    points: Array
    costs: Array
    b: float
    g: Array
    share: float


def everything_open(columns: Array, costs: Array) -> Screened:
    """All samples, before any is settled."""
    return Screened(columns, costs, 0.0, np.zeros(len(columns)), 1.0)


def screen(known: Screened, box: Box) -> Screened:
    """Sort out the samples that are settled in a box, which lies in that of `known`; reads what was open once."""
    b, g, kept = known.b, known.g, []
    for rows in row_blocks(known.costs.size):
        costs = known.costs[rows]
        block = known.points[:, rows.start : rows.start + costs.size]
        margins, open_ = box.open_samples(block)
        pull = np.where((margins < 1.0) & ~open_, costs, 0.0)
        b, g = b + float(pull.sum()), g - block @ pull
        kept.append(np.flatnonzero(open_) + rows.start)
    chosen = np.concatenate(kept)
    room = max(1, chosen.size)
    points, costs = np.zeros((len(g), -(-room // LANES) * LANES)), np.zeros(room)
    points[:, : chosen.size], costs[: chosen.size] = known.points[:, chosen], known.costs[chosen]
    return Screened(points, costs, b, g, known.share * chosen.size / known.costs.size)
