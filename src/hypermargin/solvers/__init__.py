"""Solvers: one algorithm a file. Importing this package registers them all."""

from hypermargin.solvers.base import (
    Outcome,
    Solution,
    Solver,
    Status,
    available_methods,
    get_solver,
    make_solver,
    register,
    relative_gap,
    solve,
)

__all__ = [
    "Outcome",
    "Solution",
    "Solver",
    "Status",
    "available_methods",
    "get_solver",
    "make_solver",
    "register",
    "relative_gap",
    "solve",
]
