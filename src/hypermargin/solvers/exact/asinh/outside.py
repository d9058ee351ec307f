"""That nothing lies outside the first box: the directions of w are covered by cones whose far parts cost too much.

Any w outside the cube ``|w_j| <= S`` is ``s v`` with s >= S and v on the surface of the unit cube. On a piece V of a
face the samples that are surely on the wrong side for every v cost at least ``l(S u_i)`` each, u_i being their largest
margin over V: that grows like log S. To it comes ``S^2 q/2`` where all of V is spacelike. Pieces are halved until it
suffices.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.solvers.exact.asinh.compiled.samples import Samples

#: Pieces to try for one S, and how S grows when they are not enough.
MOST_PIECES, GROWTH, MOST_GROWTHS = 4_000, 2.0, 80

#: All of a piece is timelike, for the check too, where q of its vectors is less than minus this.
SURELY = 1e-9

#: The pieces of one face in preorder: the axis a piece is halved across, or -1 for one that is proved.
Pieces = list[int]


def find_half_side(
    samples: Samples, n_samples: int, best: Array, cutoff: float, allow_timelike: bool
) -> tuple[float, list[Pieces]] | None:
    """A half side S, a power of two, and the pieces that prove it; None if there seems to be none."""
    largest = max(float(np.abs(best).max()), 2.0**-40)
    half_side = 2.0 ** np.ceil(np.log2(2.0 * largest))
    for _ in range(MOST_GROWTHS):
        cover = _cover(samples, n_samples, best.size, half_side, cutoff, allow_timelike)
        if cover is not None:
            return half_side, cover
        half_side *= GROWTH
    return None


def _cover(
    samples: Samples, n_samples: int, k: int, half_side: float, cutoff: float, allow_timelike: bool
) -> list[Pieces] | None:
    faces, left = [], MOST_PIECES
    for axis in range(k):
        for side in (-1.0, 1.0):
            pieces: Pieces = []
            low, high = -np.ones(k), np.ones(k)
            low[axis] = high[axis] = side
            waiting = [(low, high, np.arange(n_samples, dtype=np.intc))]
            while waiting:
                low, high, active = waiting.pop()
                if len(pieces) > left:
                    return None
                least, most = form_range(low, high)
                if most < -SURELY and not allow_timelike:
                    pieces.append(-1)
                    continue
                margin_term = 0.5 * half_side**2 * max(0.0, least)
                if margin_term >= cutoff or margin_term + samples.outside(low, high, half_side, active) >= cutoff:
                    pieces.append(-1)
                    continue
                active = samples.unsettled() if margin_term < cutoff else active
                widest = int(np.argmax(high - low))
                pieces.append(widest)
                middle = 0.5 * (low[widest] + high[widest])
                below, above = high.copy(), low.copy()
                below[widest] = above[widest] = middle
                waiting.append((above, high, active))
                waiting.append((low, below, active))
            left -= len(pieces)
            faces.append(pieces)
    return faces


def form_range(low: Array, high: Array) -> tuple[float, float]:
    """The least and the largest ``q(v)`` over a box of v."""
    largest = np.maximum(np.abs(low), np.abs(high)) ** 2
    least = np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(np.abs(low), np.abs(high))) ** 2
    return float(least[1:].sum() - largest[0]), float(largest[1:].sum() - least[0])
