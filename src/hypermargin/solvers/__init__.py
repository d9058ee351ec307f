"""Solvers: `solve`, the contract they keep (`base.py`), and one algorithm per file or folder.

`METHODS` says where each one is. A solver is imported when it is first asked for.
"""

from typing import TYPE_CHECKING

from hypermargin.lazy_names import lazy_names
from hypermargin.solvers.base import (
    ROUNDING,
    Outcome,
    Solution,
    Solver,
    Status,
    announce,
    available_methods,
    get_solver,
    make_solver,
    register,
    relative_gap,
)
from hypermargin.solvers.solving import solve, solve_path

if TYPE_CHECKING:
    from hypermargin.solvers.euclidean import Euclidean
    from hypermargin.solvers.exact.method import Exact
    from hypermargin.solvers.pgd import ProjectedGradient
    from hypermargin.solvers.relaxations.moment.solver import Moment
    from hypermargin.solvers.relaxations.sdp import SDP

__all__ = [
    "ROUNDING",
    "SDP",
    "Euclidean",
    "Exact",
    "Moment",
    "Outcome",
    "ProjectedGradient",
    "Solution",
    "Solver",
    "Status",
    "available_methods",
    "get_solver",
    "make_solver",
    "register",
    "relative_gap",
    "solve",
    "solve_path",
]

#: For each method its module and its class, in the order in which methods are listed.
METHODS = {
    "euclidean": ("hypermargin.solvers.euclidean", "Euclidean"),
    "exact": ("hypermargin.solvers.exact.method", "Exact"),
    "pgd": ("hypermargin.solvers.pgd", "ProjectedGradient"),
    "sdp": ("hypermargin.solvers.relaxations.sdp", "SDP"),
    "moment": ("hypermargin.solvers.relaxations.moment.solver", "Moment"),
}
for _method, (_module, _class) in METHODS.items():
    announce(_method, _module, _class)

if not TYPE_CHECKING:  # a type checker would accept any name at all
    __getattr__, __dir__ = lazy_names(__name__, {solver: module for module, solver in METHODS.values()})
