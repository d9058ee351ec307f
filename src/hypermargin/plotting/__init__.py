"""Pictures: points, boundaries and regions on the Poincaré disk, the proof of a bound, and the progress of a solver."""

from hypermargin.plotting.display import PoincareDisplay
from hypermargin.plotting.history import plot_history
from hypermargin.plotting.proof import ProofDisplay
from hypermargin.plotting.proof_figure import plot_proof
from hypermargin.plotting.radii import plot_certified_radii

__all__ = ["PoincareDisplay", "ProofDisplay", "plot_certified_radii", "plot_history", "plot_proof"]
