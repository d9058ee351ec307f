# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Many small problems that share one kernel matrix, solved one after the other without a word to the interpreter.

Compiled by Cython at installation; without a compiler the interpreter runs the same file.
"""

import cython
import numpy as np

if cython.compiled:
    from cython.cimports.hypermargin.solvers.kernel.compiled.ending import balance_in_place, gap_and_intercept
    from cython.cimports.hypermargin.solvers.kernel.compiled.pairs import minimise_runs
    from cython.cimports.libc.math import fabs
else:
    from math import fabs

    from hypermargin.solvers.kernel.compiled.ending import balance_in_place, gap_and_intercept
    from hypermargin.solvers.kernel.compiled.pairs import minimise_runs


def minimise_family(
    K: cython.const[cython.double][:, ::1],
    starts: cython.const[cython.Py_ssize_t][::1],
    run_starts: cython.const[cython.Py_ssize_t][::1],
    begins: cython.const[cython.Py_ssize_t][::1],
    aheads: cython.const[cython.Py_ssize_t][::1],
    y: cython.const[cython.double][::1],
    costs: cython.const[cython.double][::1],
    aim: cython.double,
    first_tol: cython.double,
    most_steps: cython.const[cython.Py_ssize_t][::1],
    beta: cython.double[::1],
    gradient: cython.double[::1],
    intercepts: cython.double[::1],
    gaps: cython.double[::1],
    steps: cython.Py_ssize_t[::1],
):
    """Bring every problem of a `KernelProblemFamily` to the relative gap `aim`, as near as `most_steps` of each do.

    Begins with the coefficients `beta` and ends with such whose sum is exactly 0; `gradient`, which need not be set, is
    ``K beta - y``. `intercepts`, `gaps` and `steps` have an entry for each problem. Steps go on until no pair violates
    optimality by more than `first_tol`, and ten times less each time that this did not do.
    """
    p: cython.Py_ssize_t
    k: cython.Py_ssize_t
    first: cython.Py_ssize_t
    past: cython.Py_ssize_t
    runs: cython.Py_ssize_t
    runs_end: cython.Py_ssize_t
    end: cython.double
    total: cython.double
    unit: cython.double
    accuracy: cython.double
    n_problems: cython.Py_ssize_t = starts.shape[0] - 1
    n: cython.Py_ssize_t = y.shape[0]
    low: cython.double[::1] = np.empty(n)
    high: cython.double[::1] = np.empty(n)
    diagonal: cython.double[::1] = np.empty(n)
    order: cython.Py_ssize_t[::1] = np.empty(n, dtype=np.intp)
    with cython.nogil:
        for k in range(n):
            end = y[k] * costs[k]
            low[k] = end if end < 0.0 else 0.0
            high[k] = end if end > 0.0 else 0.0
        for p in range(n_problems):
            first, past = starts[p], starts[p + 1]
            runs, runs_end = run_starts[p], run_starts[p + 1]
            _begin(
                K,
                begins[runs + p : runs_end + p + 1],
                aheads[runs:runs_end],
                y[first:past],
                beta[first:past],
                gradient[first:past],
            )
            accuracy = first_tol
            while True:
                minimise_runs(
                    K,
                    gradient[first:past],
                    beta[first:past],
                    low[first:past],
                    high[first:past],
                    accuracy,
                    most_steps[p] - steps[p],
                    begins[runs + p : runs_end + p + 1],
                    aheads[runs:runs_end],
                    diagonal[first:past],
                    steps[p : p + 1],
                )
                _sort(gradient[first:past], order[first:past])
                gaps[p] = gap_and_intercept(
                    order[first:past],
                    gradient[first:past],
                    beta[first:past],
                    y[first:past],
                    costs[first:past],
                    intercepts[p : p + 1],
                )
                if gaps[p] <= aim or accuracy < 1e-13 or steps[p] >= most_steps[p]:
                    break
                accuracy *= 0.1
            total = 0.0
            for k in range(first, past):
                total += fabs(beta[k])
            if total > 0.0:
                unit = 1.0
                while unit > total:
                    unit *= 0.5
                while unit <= total:
                    unit *= 2.0
                balance_in_place(beta[first:past], low[first:past], high[first:past], unit * 2.0**-50)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(
    K: cython.const[cython.double][:, ::1],
    begins: cython.const[cython.Py_ssize_t][::1],
    aheads: cython.const[cython.Py_ssize_t][::1],
    y: cython.const[cython.double][::1],
    beta: cython.const[cython.double][::1],
    gradient: cython.double[::1],
) -> cython.void:
    """Set the gradient ``K beta - y`` of one problem."""
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    q: cython.Py_ssize_t
    r: cython.Py_ssize_t
    for k in range(y.shape[0]):
        gradient[k] = -y[k]
    for q in range(aheads.shape[0]):
        for j in range(begins[q], begins[q + 1]):
            if beta[j] == 0.0:
                continue
            for r in range(aheads.shape[0]):
                for k in range(begins[r], begins[r + 1]):
                    gradient[k] += beta[j] * K[j + aheads[q], k + aheads[r]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort(keys: cython.const[cython.double][::1], order: cython.Py_ssize_t[::1]) -> cython.void:
    """The places of the keys in growing order, by a heap."""
    n: cython.Py_ssize_t = keys.shape[0]
    k: cython.Py_ssize_t
    size: cython.Py_ssize_t
    parent: cython.Py_ssize_t
    child: cython.Py_ssize_t
    moved: cython.Py_ssize_t
    for k in range(n):
        order[k] = k
    for k in range(n // 2 + n - 1):  # first make the heap, then take the largest off it one by one
        if k < n // 2:
            parent, size = n // 2 - 1 - k, n
            moved = order[parent]
        else:
            parent, size = 0, n // 2 + n - 1 - k
            moved = order[size]
            order[size] = order[0]
        while True:
            child = 2 * parent + 1
            if child >= size:
                break
            if child + 1 < size and keys[order[child + 1]] > keys[order[child]]:
                child += 1
            if keys[order[child]] <= keys[moved]:
                break
            order[parent] = order[child]
            parent = child
        order[parent] = moved
