"""Whether a hyperplane separates the classes, by a linear programme in so many digits that rounding has no say.

``max delta, z_i.w >= delta |z_i|, |w_j| <= 1`` by the dual simplex method: bases of d + 2 constraints, each solved by
Arb from the rows as they are. If the optimum is 0 the samples of the basis have a positive relation, else w separates.
What comes of it is checked elsewhere, so that nothing rests on when a number counts as 0.
"""

from typing import NamedTuple

import numpy as np
from flint import arb, arb_mat

from hypermargin.arithmetic import in_arb
from hypermargin.arrays import Array
from hypermargin.problems.margin import MarginProblem

#: What is 0: margins between doubles, in the frame of any, are far larger.
ZERO = 2.0**-250
#: Most pivots, and how many of them choose the constraint that is violated most (then the first, which cannot cycle).
PIVOTS, GREEDY = 400, 200
#: Most samples for which it is tried, and for which it is quicker than a linear programme in doubles.
MOST_SAMPLES, QUICK = 2000, 200


class Separation(NamedTuple):
    """A normal ``w + low`` with positive margins, or samples between which there is a positive relation."""

    w: Array | None = None
    low: Array | None = None
    samples: tuple[int, ...] = ()


def separation(problem: MarginProblem) -> Separation | None:
    """What the linear programme says of the points, whatever their uncertainty sets; None where it gave up."""
    used = np.flatnonzero(problem.costs > 0.0)
    if used.size > MOST_SAMPLES:
        return None
    with in_arb():
        centre = [arb(v) for v in problem.centre[1:].tolist()]
        rows = [_constraint(problem.X[i, 1:].tolist(), int(problem.y[i]), centre) for i in used]
        found = _maximum(rows, problem.dim + 2)
        if found is None:
            return None
        vertex, basis, multipliers = found
        if float(vertex[-1]) > ZERO:
            outside = _moved(vertex[:-1], centre)
            w = [float(v.mid()) for v in outside]
            low = [float((v - u).mid()) for v, u in zip(outside, w, strict=True)]
            return Separation(np.array(w), np.array(low))
    related = (k for k, v in zip(basis, multipliers, strict=True) if k < used.size and float(v) > ZERO)
    return Separation(samples=tuple(sorted(int(used[k]) for k in related)))


def _constraint(space: list[float], y: int, centre: list[arb]) -> list[arb]:
    """``delta - z.w/|z| <= 0`` as a row over (w, delta), z in the frame around the centre."""
    xr = [arb(v) for v in space]
    x = _moved([(1 + _dot(xr, xr)).sqrt(), *xr], [-c for c in centre])
    size = _dot(x, x).sqrt()
    return [-y * x[0] / size, *(y * v / size for v in x[1:]), arb(1)]


def _moved(x: list[arb], centre: list[arb]) -> list[arb]:
    """A vector after the boost that takes the origin to the point over the centre."""
    time, along = (1 + _dot(centre, centre)).sqrt(), _dot(centre, x[1:])
    factor = along / (1 + time) + x[0]
    return [time * x[0] + along, *(v + c * factor for v, c in zip(x[1:], centre, strict=True))]


def _maximum(rows: list[list[arb]], width: int) -> tuple[list[arb], list[int], list[arb]] | None:
    """The vertex with the largest last entry, the constraints that meet there and their multipliers.

    Constraint k is ``rows[k].v <= 0``; those of the box follow, ``v_j <= 1`` and ``-v_j <= 1``.
    """
    n = len(rows)
    box = [[arb(s * (i == j)) for i in range(width)] for j in range(width - 1) for s in (1, -1)]
    rows = [*rows, *box]
    limits = [arb(0)] * n + [arb(1)] * len(box)
    goal = arb_mat([[arb(int(i == width - 1))] for i in range(width)])
    basis = [0, *(n + 2 * j + int(rows[0][j] > 0) for j in range(width - 1))]
    for pivot in range(PIVOTS):
        matrix = arb_mat([rows[k] for k in basis])
        try:
            vertex = _column(matrix.solve(arb_mat([[limits[k]] for k in basis])))
            multipliers = _column(matrix.transpose().solve(goal))
        except ZeroDivisionError:
            return None
        entering = _violated(rows, limits, vertex, greedy=pivot < GREEDY)
        if entering is None:
            return vertex, basis, multipliers
        rates = _column(matrix.transpose().solve(arb_mat([[v] for v in rows[entering]])))
        ratios = [(v / u, basis[i], i) for i, (v, u) in enumerate(zip(multipliers, rates, strict=True)) if u > ZERO]
        if not ratios:
            return None
        least = min(float(ratio) for ratio, _, _ in ratios)
        leaving = min((k, i) for ratio, k, i in ratios if float(ratio) <= least)[1]
        basis[leaving] = entering
    return None


def _violated(rows: list[list[arb]], limits: list[arb], vertex: list[arb], greedy: bool) -> int | None:
    """The constraint that a vertex violates most, or the first one; None where it meets all."""
    most, which = ZERO, None
    for k, (row, limit) in enumerate(zip(rows, limits, strict=True)):
        excess = float((_dot(row, vertex) - limit).mid())
        if excess > most:
            if not greedy:
                return k
            most, which = excess, k
    return which


def _column(matrix: arb_mat) -> list[arb]:
    return [matrix[i, 0].mid() for i in range(matrix.nrows())]


def _dot(a: list[arb], b: list[arb]) -> arb:
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))
