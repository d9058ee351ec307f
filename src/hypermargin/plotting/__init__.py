"""Pictures: points, boundaries and regions on the Poincaré disk, trees, proofs of bounds, progress of solvers."""

from hypermargin.plotting.display import PoincareDisplay
from hypermargin.plotting.proof import ProofDisplay, plot_history, plot_proof
from hypermargin.plotting.radii import plot_certified_radii
from hypermargin.plotting.tree import TreeDisplay

__all__ = ["PoincareDisplay", "ProofDisplay", "TreeDisplay", "plot_certified_radii", "plot_history", "plot_proof"]
