"""The linear program ``min_w risk(w)``, which is what the paper's relaxations are worth without a ball, by HiGHS.

It is solved in its dual form (docs/relaxations.md): ``max sum_i a_i`` over ``0 <= a_i <= c_i/sqrt2`` and
``sum_i a_i z_i = 0``. That has only d + 1 rows, and their multipliers are the minimiser w.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from hypermargin.geometry.lorentz import Array
from hypermargin.solvers.dual_weights import DualBound, Samples, repair


@dataclass(frozen=True, eq=False)
class LeastRisk:
    """A minimiser w of the hinge risk, its risk, and the bound that the dual weights prove."""

    w: Array
    risk: float
    bound: DualBound


def hinge_risk(samples: Samples, w: Array) -> float:
    """``sum_i c_i max(0, 1 - z_i.w)/sqrt2``."""
    return float(samples.upper @ np.maximum(0.0, 1.0 - samples.Z @ w))


def least_risk(samples: Samples, basis: Array) -> LeastRisk | None:
    """Minimise the risk with w in coordinates of the basis, for scale; None where HiGHS finds no answer."""
    found = linprog(
        -np.ones(len(samples.Z)),
        A_eq=(samples.Z @ basis).T,
        b_eq=np.zeros(basis.shape[1]),
        bounds=np.column_stack((np.zeros(len(samples.Z)), samples.upper)),
        method="highs-ds",
    )
    if found.x is None:
        return None
    w = -basis @ found.eqlin.marginals
    return LeastRisk(w, hinge_risk(samples, w), repair(found.x, samples))
