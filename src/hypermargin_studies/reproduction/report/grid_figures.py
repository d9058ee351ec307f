"""Box plots of the Gaussian grid (paper, app. gaussian): a panel for each configuration, a box for each method."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from hypermargin.datasets import by_name as data
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE
from hypermargin_studies.reproduction.plan import GRID_METHODS
from hypermargin_studies.reproduction.summary import Summary

#: What the improvements on the grid are measured from: the paper's own baseline.
BASE = "pgd-published"
#: Counts are written upwards from the foot of a panel.
_BESIDE: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 7, "color": "#606060"}
Draw = Callable[[Summary], Figure | None]


def grid_improvements(metric: str, label: str, *, higher_is_better: bool = True) -> Draw:
    """Box plots over seeds of the improvement over PGD in one metric (paper, app. gaussian)."""

    def draw(summary: Summary) -> Figure | None:
        methods = [m for m in GRID_METHODS if m in summary.methods() and m != BASE]
        sign = 1.0 if higher_is_better else -1.0

        def values(name: str, C: float, method: str) -> float | None:
            ours, base = (summary.stat(name, "ovr", C, m, metric) for m in (method, BASE))
            return None if ours is None or base is None else sign * (ours.mean - base.mean)

        return _grid_boxes(methods, values, f"improvement over\n{METHODS[BASE].label}: {label}", zero=True)

    return draw


def grid_gaps(metric: str, label: str) -> Draw:
    """Box plots over seeds of eta or of the true gap."""

    def draw(summary: Summary) -> Figure | None:
        relaxed = [m for m in GRID_METHODS if METHODS[m].is_relaxation]
        judged = [m for m in GRID_METHODS if m != REFERENCE]
        methods = [m for m in (relaxed if metric == "eta" else judged) if m in summary.methods()]

        def values(name: str, C: float, method: str) -> float | None:
            stat = summary.stat(name, "ovr", C, method, metric)
            if metric == "eta" or stat is not None:
                return None if stat is None else (stat.mean if metric == "eta" else max(stat.mean, 1e-9))
            return np.inf if np.inf in summary.problem_gaps(name, "ovr", C, method) else None

        return _grid_boxes(methods, values, label, logarithmic=metric == "gap")

    return draw


def _grid_boxes(
    methods: Sequence[str],
    value: Callable[[str, float, str], float | None],
    label: str,
    *,
    zero: bool = False,
    logarithmic: bool = False,
) -> Figure | None:
    """One panel per configuration (classes, scale, C), one box per method, one value per seed.

    Infinite values (of answers with q < 0, which have no objective) are counted beside the box of the others.
    """
    panels = [(K, s, C) for K in data.GRID_CLASSES for s in data.GRID_SCALES for C in data.GRID_C]
    found = {
        (panel, method): kept
        for panel in panels
        for method in methods
        if (kept := _values_over_seeds(panel, method, value))
    }
    shown = [method for method in methods if any((panel, method) in found for panel in panels)]
    if not shown:
        return None
    figure, axes = plt.subplots(2, 4, figsize=(13.0, 5.8), sharex=True)
    for panel, ax in zip(panels, axes.flat, strict=True):
        boxes = {shown.index(method): found[panel, method] for method in shown if (panel, method) in found}
        K, s, C = panel
        ax.set_title(f"K = {K}, s = {s:g}, C = {C:g} ({max(map(len, boxes.values()), default=0)} draws)", fontsize=9)
        if boxes:
            finite = {position: [v for v in values if v < np.inf] for position, values in boxes.items()}
            drawn = ax.boxplot(
                list(finite.values()), positions=list(finite), widths=0.6, patch_artist=True, showfliers=False
            )
            for box, position in zip(drawn["boxes"], finite, strict=True):
                box.set(facecolor=METHODS[shown[position]].colour, alpha=0.55, linewidth=0.8)
            plt.setp(drawn["medians"], color="black")
            for position, values in boxes.items():
                if timelike := len(values) - len(finite[position]):
                    where = ax.get_xaxis_transform()
                    ax.text(position, 0.03, f"{timelike} of {len(values)} timelike", transform=where, **_BESIDE)
            if logarithmic:
                ax.set_yscale("log")
        else:
            ax.text(0.5, 0.5, "no results", transform=ax.transAxes, ha="center", color="#808080")
            ax.set_yticks([])
        if zero:
            ax.axhline(0.0, color="#808080", linewidth=0.8)
        ax.set_xticks(range(len(shown)), [METHODS[m].label for m in shown], fontsize=8, rotation=40, ha="right")
        ax.set_xlim(-0.6, len(shown) - 0.4)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="y", which="both", labelsize=8)
    for ax in axes[:, 0]:
        ax.set_ylabel(label, fontsize=9)
    figure.tight_layout()
    return figure


def _values_over_seeds(
    panel: tuple[int, float, float], method: str, value: Callable[[str, float, str], float | None]
) -> list[float]:
    K, s, C = panel
    numbers = [value(data.grid_name(K, s, seed), C, method) for seed in data.GRID_SEEDS]
    return [number for number in numbers if number is not None]
