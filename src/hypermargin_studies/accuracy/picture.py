"""The critical-difference picture: mean ranks on a line, with bars over contestants that cannot be told apart."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from hypermargin.plotting.palette import CLASS_COLOURS
from hypermargin_studies.accuracy.contestants import OURS
from hypermargin_studies.accuracy.summary import Scores

OWN, OTHERS = CLASS_COLOURS[0], "#404040"


def joined(ranks: list[float], difference: float) -> list[tuple[int, int]]:
    """The longest runs of increasing mean ranks within the critical difference, as first and last places."""
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(k for k in range(first, len(ranks)) if ranks[k] - ranks[first] <= difference)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def critical_difference_figure(scores: Scores) -> Figure:
    """Mean ranks of complete scores; ours in colour."""
    ranks = scores.mean_ranks()
    names, places = list(ranks), list(ranks.values())
    difference = scores.critical_difference()
    runs = joined(places, difference)
    half = (len(names) + 1) // 2
    height = 1.3 + 0.28 * half + 0.12 * len(runs)
    figure, ax = plt.subplots(figsize=(9.0, height), layout="constrained")
    lowest, highest = 1.0, float(len(names))
    ax.set(xlim=(lowest - 0.3 * len(names), highest + 0.3 * len(names)), ylim=(-1.0 - half - 0.4 * len(runs), 1.6))
    ax.axis("off")
    ax.plot([lowest, highest], [0.0, 0.0], color="black", linewidth=1.0)
    for tick in range(1, len(names) + 1):
        ax.plot([tick, tick], [0.0, 0.15], color="black", linewidth=1.0)
        ax.text(tick, 0.25, str(tick), ha="center", va="bottom", fontsize=9)
    ax.plot([lowest, lowest + difference], [1.1, 1.1], color="black", linewidth=1.5)
    ax.text(lowest, 1.2, f"critical difference {difference:.2f}", ha="left", va="bottom", fontsize=9)
    below = 0.4 * len(runs)
    for level, (first, last) in enumerate(runs):
        y = -0.3 - 0.4 * level
        ax.plot([places[first] - 0.05, places[last] + 0.05], [y, y], color="#707070", linewidth=3.0)
    for k, (name, place) in enumerate(ranks.items()):
        left = k < half
        y = -0.8 - below - (k if left else len(names) - 1 - k)
        end = lowest - 0.1 if left else highest + 0.1
        colour = OWN if name in OURS else OTHERS
        ax.plot([place, place, end], [0.0, y, y], color=colour, linewidth=0.9)
        text = f"{name} {place:.2f}" if left else f"{place:.2f} {name}"
        weight = "bold" if name == "auto" else "normal"
        ax.text(
            end + (-0.05 if left else 0.05),
            y,
            text,
            ha="right" if left else "left",
            va="center",
            fontsize=9,
            color=colour,
            weight=weight,
        )
    assert np.all(np.diff(places) >= 0.0)
    return figure
