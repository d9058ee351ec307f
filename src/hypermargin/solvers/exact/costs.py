"""How much of the costs a search needs: where samples cost far more than the optimum, most of it is in the way.

What rounding leaves of ``c (1 - m)`` at margins of 1 may be more than the optimum itself. A problem with smaller costs
bounds it from below, and has the same optimum as long as costs stay above what multipliers can be.

Let f be the optimum, U at least f, and all larger costs be replaced by ``c = 2 sqrt(2) k U`` with k = 3. Along the ray
through a minimiser w the objective is stationary: its multipliers, ``a_i <= c_i/sqrt(2)``, have ``sum a_i m_i = q``.
Those with ``m_i < 0`` are part of the risk, ``sum a_i (1 - m_i) <= f``; hence those with ``m_i > 0`` have
``sum a_i m_i <= q + f <= 3 f``. If a sample of cost c were below its margin its loss would be ``sqrt(2) f/c <= 1/6`` at
most, and its ``a_i m_i`` at least ``(5/6) 2 k U``, which is more. So none is, and the minimiser costs no more in the
problem as given. Where the optimum of that has no risk, ``sum a_i m_i = q = 2 f``, and k = 2 will do.
"""

from typing import NamedTuple

import numpy as np

from hypermargin.certificates.objective import Enclosure
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem

#: Twice what multipliers can be; see above.
ROOM = 2.0


class Costs(NamedTuple):
    """A `share` of C, and weights of `most_weight` at most."""

    share: float = 1.0
    most_weight: float = np.inf

    def of(self, problem: MarginProblem) -> MarginProblem:
        """The problem with these costs."""
        if self.most_weight < np.inf:
            problem = problem.with_weights_up_to(self.most_weight)
        return problem if self.share == 1.0 else problem.with_C(self.share * problem.C)

    def largest(self, problem: MarginProblem) -> float:
        """What a sample costs at most, as a share of what it does in the problem as given."""
        return self.share * min(1.0, self.most_weight / problem.weight_range[1])


ALL = Costs()


def enough_costs(problem: MarginProblem, enclosure: Enclosure) -> Costs:
    """Costs that leave the optimum as it is, which is at most the upper end given; all where they are no less."""
    multipliers = (2.0 if enclosure.least_margin >= 1.0 else 3.0) * enclosure.upper
    weight = ROOM * SQRT2 * multipliers / problem.C
    least, most = problem.weight_range
    if not (np.isfinite(weight) and 0.0 < weight < most):
        return ALL
    return Costs(share=weight / most) if least == most else Costs(most_weight=weight)
