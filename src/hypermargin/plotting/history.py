"""How a solver came to its answer."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from hypermargin.solvers.base import Solution

_SERIES = (("objective", "objective", "#0072B2", "solid"), ("lower_bound", "lower bound", "#D55E00", "dashed"))


def plot_history(solution: Solution, *, ax: Axes | None = None) -> Axes:
    """Objective and lower bound by iteration, as far as `solution.history` has them; returns the axes.

    Infinite values (no bound yet) are left out. The gap between the two is shaded.
    """
    series = {
        key: np.asarray(solution.history[key], dtype=np.float64) for key, *_ in _SERIES if key in solution.history
    }
    series = {key: np.where(np.isfinite(values), values, np.nan) for key, values in series.items() if values.size}
    if not series:
        raise ValueError(f"the solution by {solution.method!r} keeps no history of its objective or bound to draw")
    if ax is None:
        ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")[1]
    for key, label, colour, dashes in _SERIES:
        if key in series:
            marker = "o" if series[key].size <= 60 else None
            steps = np.arange(1, series[key].size + 1)
            ax.plot(steps, series[key], label=label, color=colour, linestyle=dashes, marker=marker, markersize=3)
    if len(series) == 2:
        shared = min(values.size for values in series.values())
        upper, lower = series["objective"][:shared], series["lower_bound"][:shared]
        ax.fill_between(np.arange(1, shared + 1), lower, upper, color="#0072B2", alpha=0.08, linewidth=0)
    ax.set(xlabel="iteration", ylabel=f"objective ({solution.loss} loss)", title=solution.method)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax
