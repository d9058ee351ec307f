"""Problems: what is to be minimised, and nothing about how."""

from hypermargin.problems.losses import LOSSES, Loss, get_loss
from hypermargin.problems.margin import MarginProblem

__all__ = ["LOSSES", "Loss", "MarginProblem", "get_loss"]
