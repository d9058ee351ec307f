"""Solvers: one algorithm a file. Importing this package registers them all."""

from hypermargin.solvers.base import (
    ROUNDING,
    Outcome,
    Solution,
    Solver,
    Status,
    available_methods,
    get_solver,
    make_solver,
    register,
    relative_gap,
)
from hypermargin.solvers.euclidean import Euclidean
from hypermargin.solvers.exact.method import Exact
from hypermargin.solvers.pgd import ProjectedGradient
from hypermargin.solvers.relaxations.moment.solver import Moment
from hypermargin.solvers.relaxations.sdp import SDP
from hypermargin.solvers.solving import solve, solve_path

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
