"""hypermargin: large-margin classifiers in hyperbolic space, with proofs of optimality."""

from hypermargin.certificates import Certificate, SoftMarginCertificate
from hypermargin.estimators import HyperbolicSVC, HyperbolicSVCCV, load_model, save_model
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, MarginProblem
from hypermargin.solvers import Solution, Status, available_methods, solve, solve_path

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Box",
    "Certificate",
    "CrossPolytope",
    "Ellipsoid",
    "GeodesicBall",
    "HyperbolicSVC",
    "HyperbolicSVCCV",
    "MarginProblem",
    "SoftMarginCertificate",
    "Solution",
    "Status",
    "available_methods",
    "load_model",
    "save_model",
    "solve",
    "solve_path",
]
