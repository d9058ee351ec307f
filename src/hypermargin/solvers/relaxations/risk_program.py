"""The linear program ``min_w risk(w)``, which is what the paper's relaxations are worth without a ball, by HiGHS.

It is solved in its dual form (docs/relaxations.md): ``max sum_i a_i`` over ``0 <= a_i <= c_i/sqrt2`` and
``sum_i a_i z_i = 0``. That has only d + 1 rows, and their multipliers are the minimiser w.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from hypermargin.arrays import Array
from hypermargin.solvers.relaxations.dual_weights import DualBound, Samples, repair


@dataclass(frozen=True, eq=False)
class LeastRisk:
    """A minimiser w of the hinge risk and the bound that the dual weights prove."""

    w: Array
    bound: DualBound


def least_risk(samples: Samples, basis: Array, *, time_limit: float = np.inf) -> LeastRisk | None:
    """Minimise the risk with w in coordinates of the basis, for scale; None where HiGHS finds no answer in time."""
    found = linprog(
        -np.ones(len(samples.Z)),
        A_eq=(samples.Z @ basis).T,
        b_eq=np.zeros(basis.shape[1]),
        bounds=np.column_stack((np.zeros(len(samples.Z)), samples.upper)),
        method="highs-ds",
        options={"time_limit": max(time_limit, 0.0)},
    )
    if not found.success:
        return None
    return LeastRisk(-basis @ found.eqlin.marginals, repair(found.x, samples))
