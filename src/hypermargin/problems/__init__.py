"""Problems: what is to be minimised, and nothing about how."""

from hypermargin.problems.linearised import Ball, Box, CrossPolytope, Ellipsoid
from hypermargin.problems.losses import LOSSES, Loss, get_loss
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall, UncertaintySet

__all__ = [
    "LOSSES",
    "Ball",
    "Box",
    "CrossPolytope",
    "Ellipsoid",
    "GeodesicBall",
    "Loss",
    "MarginProblem",
    "UncertaintySet",
    "get_loss",
]
