"""The proof of optimality and how it was found, in one figure."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hypermargin.plotting.history import plot_history
from hypermargin.plotting.proof import ProofDisplay, Zoom
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Solution


def plot_proof(solution: Solution, problem: MarginProblem, *, zoom: Zoom = "optimum", resolution: int = 81) -> Figure:
    """A figure of three panels: `ProofDisplay` of the solution; how its bounds met (`plot_history`); their gap.

    A solution that was optimal from the start has no history; then there is the first panel alone.
    """
    display = ProofDisplay.make(solution, problem)
    if not any(len(solution.history.get(key, ())) for key in ("objective", "lower_bound")):
        figure = display.plot(zoom=zoom, resolution=resolution).ax_.get_figure(root=True)
        assert figure is not None
        return figure
    figure, panels = plt.subplot_mosaic(
        [["proof", "bounds"], ["proof", "gap"]],
        figsize=(12.0, 5.4),
        layout="constrained",
        width_ratios=(3, 2),
        height_ratios=(3, 2),
    )
    display.plot(panels["proof"], zoom=zoom, resolution=resolution)
    plot_history(solution, ax=panels["bounds"])
    panels["bounds"].set(title="", xlabel="")
    panels["bounds"].set_title("how the bounds met", loc="left", fontsize="medium")
    _draw_gap(panels["gap"], solution)
    panels["gap"].sharex(panels["bounds"])
    return figure


def _draw_gap(ax: Axes, solution: Solution) -> None:
    """The relative gap of the history on a logarithmic scale; a gap closed to the last digit is left out."""
    upper, lower = (np.asarray(solution.history.get(key, ()), dtype=float) for key in ("objective", "lower_bound"))
    size = min(upper.size, lower.size)
    with np.errstate(invalid="ignore"):
        gap = (upper[:size] - lower[:size]) / np.maximum(np.abs(upper[:size]), 1e-12)
        drawn = np.where(np.isfinite(gap) & (gap > 0.0), gap, np.nan)
    ax.plot(
        np.arange(1, size + 1), drawn, color="black", linewidth=1.2, marker="o" if size <= 60 else None, markersize=3
    )
    ax.set(yscale="log", xlabel="step of the search", ylabel="relative gap")
    ax.spines[["top", "right"]].set_visible(False)
