"""hypermargin: large-margin classifiers in hyperbolic space, with proofs of optimality."""

from hypermargin.problems import MarginProblem
from hypermargin.solvers import Solution, Status, available_methods, solve

__version__ = "0.1.0"

__all__ = ["MarginProblem", "Solution", "Status", "available_methods", "solve"]
