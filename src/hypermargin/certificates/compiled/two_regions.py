# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The check of a small problem in one call: its sums, what its intervals prove, and the risk of its answer.

Compiled by Cython at installation; without a compiler the interpreter runs this file.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.certificates.compiled.blocked_sums import cut_sums
    from cython.cimports.hypermargin.certificates.compiled.sums import enclosed_risk
    from cython.cimports.hypermargin.certificates.core.compiled.intervals import Intervals
    from cython.cimports.hypermargin.geometry.compiled.double_double import move_normal
else:
    from hypermargin.certificates.compiled.blocked_sums import cut_sums
    from hypermargin.certificates.compiled.sums import enclosed_risk
    from hypermargin.certificates.core.compiled.intervals import Intervals
    from hypermargin.geometry.compiled.double_double import move_normal

NOTHING = np.zeros(0)
NONE_APART = np.zeros(0, dtype=np.intp)


def bounds_and_risk(samples, product_roundings: cython.double, proof, w: cython.const[cython.double][::1]):
    """What a `TwoRegionProof` proves, and the risk of w over its weights from above, but for the rounding of that sum.

    The samples are `FramedSamples` around the centre of the proof, `product_roundings` is that of `enclosed_risk`. A
    normal that double-double arithmetic has not digits enough for has an infinite risk here. What is for another
    dimension proves nothing.
    """
    problem = samples.problem
    X: cython.const[cython.double][:, ::1] = samples.rows
    y: cython.const[cython.double][:] = problem.y
    costs: cython.const[cython.double][:] = problem.costs
    entry: cython.const[cython.double][:, ::1] = samples.entry
    reach_factor: cython.double = samples.reach_factor
    centre: cython.const[cython.double][::1] = proof.centre
    points: cython.const[cython.double][:, ::1] = proof.points
    width: cython.Py_ssize_t = X.shape[1]
    if w.shape[0] != width or centre.shape[0] != width - 1 or points.shape[1] != width:
        return -float("inf"), float("inf")
    reaches: cython.const[cython.double][:] = X[:, 0]
    totals, errors, one_class = cut_sums(
        X,
        y,
        costs,
        problem.sample_weight is not None,
        entry,
        points,
        proof.threshold,
        NONE_APART,
        np.zeros(points.shape[0] + 1, dtype=np.intp),
        samples.stretch,
        reach_factor,
    )
    intervals: Intervals = Intervals(totals, errors, one_class.view(np.uint8), width - 1)
    bound: cython.double = intervals.least_bound_of_halves(
        proof.above, proof.nodes, proof.starts, proof.cuts, proof.weights
    )
    room: cython.double[:, ::1] = np.empty((2, width))
    if not move_normal(w, NOTHING, centre, room[0], room[1]):
        return bound, float("inf")
    risk: tuple = enclosed_risk(X, y, costs, reaches, entry, room[0], product_roundings, reach_factor, room[1])
    return bound, risk[1]
