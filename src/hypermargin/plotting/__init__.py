"""Pictures: points, boundaries and decision regions on the Poincaré disk, and the progress of a solver."""

from hypermargin.plotting.display import PoincareDisplay
from hypermargin.plotting.history import plot_history
from hypermargin.plotting.radii import plot_certified_radii

__all__ = ["PoincareDisplay", "plot_certified_radii", "plot_history"]
