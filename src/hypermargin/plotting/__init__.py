"""Pictures: points, boundaries and decision regions on the Poincaré disk, and the progress of a solver."""

from hypermargin.plotting.display import PoincareDisplay
from hypermargin.plotting.history import plot_history

__all__ = ["PoincareDisplay", "plot_history"]
