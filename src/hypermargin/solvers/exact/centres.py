"""The optimum that is returned where there are many (docs/exact-theory.md, "Which optimum").

Spacelike optima are isolated. Convex sets of several optima are of two kinds: a piece of one light ray, whose middle is
taken; and, where timelike w are allowed, a piece of the light cone in which the risk is flat, of which the w with the
largest ``-q(w)`` is taken, the one farthest inside the cone. Both choices commute with isometries, and with the
exchange of labels.
"""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.solvers.exact.compiled.cuts import quadratic_form
from hypermargin.solvers.exact.oracle import HingeOracle

#: Shares of ``|w|^2`` below which q is that of a lightlike w: the search stops some roundings off the cone.
ON_CONE = 1e-9
#: Margins this close to 1 are at the kink, and a slope of the risk below this share of its terms is 0 but for rounding.
AT_KINK, NO_SLOPE = 1e-9, 1e-12
#: The same where a vertex is to be told from a face: the search knows it to about its own relative gap.
AT_VERTEX = 1e-6
#: The most samples of which the face of the risk is examined: a cone programme over so many takes a tenth of a second.
MOST_SAMPLES_OF_FACE = 3_000
#: The accuracy of the cone programme, and the most by which the objective may grow, relatively: below any tolerance.
PRECISION, MOST_GROWTH = 1e-11, 1e-10


def centred(oracle: HingeOracle, w: Array, objective: float, timelike_allowed: bool) -> Array:
    """w, or the optimum in the middle of those around it if there are several; in the frame of the oracle.

    `objective` is that of w. Samples must be in memory, with plain margins; else w is returned.
    """
    form, square = quadratic_form(w), float(w @ w)
    if oracle.arrays is None or square == 0.0 or form > ON_CONE * square:
        return w
    columns, costs = oracle.framed
    if objective <= NO_SLOPE * oracle.factor * float(costs.sum()):  # one class: there is no largest normal
        return w
    if not timelike_allowed:
        other = _middle_of_ray(columns, costs, w)
    elif costs.size <= MOST_SAMPLES_OF_FACE and not _is_vertex(columns, costs, w):
        other = _deepest(columns, oracle.factor * costs, w, objective)
    else:
        return w
    if float(np.abs(other - w).max()) <= AT_VERTEX * float(np.abs(w).max()):
        return w
    risk, form = oracle(other)[0], quadratic_form(other)
    grown = risk + (max(form, 0.0) / 2.0 if timelike_allowed else 0.0) > objective * (1.0 + MOST_GROWTH)
    return w if grown else other


def _middle_of_ray(columns: Array, costs: Array, w: Array) -> Array:
    """The middle of the multiples of w among which the risk ``sum c_i max(0, 1 - s m_i)`` is the same as at w."""
    margins = w @ columns
    terms = costs * margins
    least = NO_SLOPE * float(np.abs(terms).sum())
    ahead, behind = margins < 1.0 - AT_KINK, margins < 1.0 + AT_KINK  # below the margin at longer and at shorter w
    longest = shortest = 1.0
    if abs(float(terms[ahead].sum())) <= least:
        longest = 1.0 / float(margins[ahead].max(initial=0.0) or 1.0)
    if abs(float(terms[behind].sum())) <= least:
        shortest = 1.0 / float(margins[~behind].min(initial=np.inf))
    return 0.5 * (shortest + longest) * w if longest > shortest else w


def _is_vertex(columns: Array, costs: Array, w: Array) -> bool:
    """Whether w is the only minimiser of the risk: d + 1 samples at the margin have multipliers within their limits."""
    margins = w @ columns
    kinks = np.flatnonzero(np.abs(margins - 1.0) <= AT_VERTEX)
    if kinks.size != w.size:
        return False
    below = (margins < 1.0 - AT_VERTEX) * costs
    try:
        shares = np.linalg.solve(columns[:, kinks], -(columns @ below)) / costs[kinks]
    except np.linalg.LinAlgError:
        return False
    return bool(np.all((shares > AT_VERTEX) & (shares < 1.0 - AT_VERTEX)))


def _deepest(columns: Array, costs: Array, w: Array, risk: float) -> Array:
    """The v with the largest ``-q(v)`` of those of at most this risk, by a cone programme with ``r^2 <= -q(v)``."""
    import clarabel  # takes a while to import, and few problems need it
    from scipy import sparse

    from hypermargin.solvers.common.conic import solve_conic

    used = costs > 0.0
    (width, n), size = columns[:, used].shape, float(np.linalg.norm(w))
    flip = np.ones(width)
    flip[0] = np.sign(w[0])
    hinges = sparse.hstack([sparse.csc_matrix(-size * columns[:, used].T), -sparse.identity(n), np.zeros((n, 1))])
    losses = sparse.hstack([np.zeros((n, width)), -sparse.identity(n), np.zeros((n, 1))])
    total = np.r_[np.zeros(width), costs[used] / risk, 0.0][None]
    cone = -np.eye(width + n + 1)[[*range(width), width + n]] * np.r_[flip, 1.0][:, None]
    A = sparse.csc_matrix(sparse.vstack([hinges, losses, total, cone]))
    b = np.r_[-np.ones(n), np.zeros(n), 1.0, np.zeros(width + 1)]
    cones = [clarabel.NonnegativeConeT(2 * n + 1), clarabel.SecondOrderConeT(width + 1)]
    found = solve_conic(-np.eye(width + n + 1)[-1], A, b, cones, tol=PRECISION).x[:width]
    return size * found if np.all(np.isfinite(found)) else w
