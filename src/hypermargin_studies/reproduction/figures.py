"""The figures: data-set gallery, decision boundaries, the Gaussian grid, and how far methods are from the optimum."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from hypermargin.geometry.models import from_lorentz
from hypermargin.plotting import PoincareDisplay
from hypermargin_studies import datasets as data
from hypermargin_studies.engine.report import Picture, Report, Texts
from hypermargin_studies.reproduction.cells import GRID_METHODS, SYNTHETIC_C
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE, label
from hypermargin_studies.reproduction.summary import CLOSE, Summary

#: Points of a data set that a small picture can show.
MOST_POINTS = 3000
BOUNDARIES = ("pgd-published", "pgd", "sdp-published", "moment-lp", "exact")


def gallery(summary: Summary) -> Figure | None:
    """Every data set of the run on the Poincaré disk (paper, fig. synthetic-data and real_data)."""
    names = summary.table_datasets()
    if not names:
        return None
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns, 2.8 * rows), squeeze=False)
    for ax in axes.flat:
        ax.axis("off")
    for name, ax in zip(names, axes.flat, strict=False):
        X, y = data.load(name)
        kept = np.random.default_rng(0).permutation(len(X))[:MOST_POINTS]
        display = PoincareDisplay(X[kept], y[kept], classes=np.unique(y)).plot(ax, legend=False)
        for points in display.points_.values():
            points.set(rasterized=True, sizes=[6.0], linewidths=0.0)
        ax.set_title(f"{name}\n{len(X)} points, {len(np.unique(y))} classes", fontsize=8)
    figure.tight_layout(h_pad=1.6)
    return figure


def tree_boundaries(summary: Summary) -> Figure | None:
    """Boundaries on the first fold of tree 2, whole and around the subtree (paper, fig. tree_2_decision)."""
    if "tree_2" not in summary.datasets():
        return None
    X, y = data.load("tree_2")
    subtree = from_lorentz(X[y == np.argmin(np.bincount(y))], "poincare")
    middle = subtree.mean(axis=0)
    half_width = 2.0 * float(np.abs(subtree - middle).max())
    return boundaries(summary, "tree_2", zooms=(None, (float(middle[0]), float(middle[1]), half_width)))


def boundaries(
    summary: Summary, dataset: str = "gaussian_1", zooms: Sequence[tuple[float, float, float] | None] = (None,)
) -> Figure | None:
    """Boundaries of all methods on the first fold of a data set (paper, fig. gaussian_1_decision)."""
    folds = {method: summary.folds(dataset, "ovo", SYNTHETIC_C, method) for method in BOUNDARIES}
    normals = {label(name): np.array(found[0]["w"][0][:-1]) for name, found in folds.items() if 0 in found}
    if not normals:
        return None
    X, y, X_test, y_test = data.fold(dataset, 0)
    figure, axes = plt.subplots(1, len(zooms), figsize=(5.2 * len(zooms) + 1.2, 5.2), squeeze=False)
    for zoom, ax in zip(zooms, axes.flat, strict=True):
        where: dict[str, Any] = {"ax": ax, "zoom": zoom, "legend": ax is axes.flat[-1]}
        display = PoincareDisplay.from_solutions(normals, X, y, X_test=X_test, y_test=y_test, **where)
        for points in (*display.points_.values(), *display.test_points_.values()):
            points.set_rasterized(True)
    figure.tight_layout()
    return figure


def gap_distribution(summary: Summary) -> Figure | None:
    """Share of binary problems within a gap of the certified optimum, as the gap grows, one line per method."""
    found = summary.comparison()
    if not found.n_problems:
        return None
    figure, ax = plt.subplots(figsize=(8.6, 3.6))
    for name, gaps in found.gaps.items():
        ordered = np.sort(np.clip(gaps, 1e-8, 2.0))
        share = np.arange(1, gaps.size + 1) / gaps.size
        ax.step(ordered, share, where="post", color=METHODS[name].colour, label=label(name))
    ax.axvline(CLOSE, color="#808080", linewidth=0.8, linestyle="dashed")
    ax.set(xscale="log", xlim=(1e-7, 1.5), ylim=(0.0, 1.0), xlabel="relative gap to the certified optimum (hinge)")
    ax.set_ylabel(f"share of {found.n_problems} binary problems")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.tight_layout()
    return figure


NAMES = {"accuracy": "accuracy", "f1": "F1", "hinge": "loss (hinge)"}
#: What the improvements on the grid are measured from: the paper's own baseline.
BASE = "pgd-published"
GRID_LABELS = {f"{part}_{key}": f"{part} {name}" for key, name in NAMES.items() for part in ("train", "test")}
GRID_LABELS["train_asinh"] = "train loss (asinh)"
#: Counts are written upwards from the foot of a panel.
_BESIDE: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 7, "color": "#606060"}


def grid_improvement(summary: Summary, metric: str) -> Figure | None:
    """Box plots over seeds of the improvement over PGD in one metric (paper, app. gaussian)."""
    sign, quantity = (
        -1.0 if "loss" in GRID_LABELS[metric] else 1.0,
        f"improvement over\n{label(BASE)}: {GRID_LABELS[metric]}",
    )

    def value(name: str, C: float, method: str) -> float | None:
        ours, base = (summary.stat(name, "ovr", C, m, metric) for m in (method, BASE))
        return None if ours is None or base is None else sign * (ours.mean - base.mean)

    return _grid_boxes([m for m in summary.methods() if m != BASE], value, quantity, zero=True)


def grid_eta(summary: Summary) -> Figure | None:
    """Box plots over seeds of eta."""

    def value(name: str, C: float, method: str) -> float | None:
        stat = summary.stat(name, "ovr", C, method, "eta")
        return None if stat is None else stat.mean

    return _grid_boxes([m for m in summary.methods() if METHODS[m].is_relaxation], value, "η")


def grid_gaps(summary: Summary) -> Figure | None:
    """Box plots over seeds of the true gap; infinite where an answer is timelike."""

    def value(name: str, C: float, method: str) -> float | None:
        stat = summary.stat(name, "ovr", C, method, "gap")
        is_timelike = stat is None and np.inf in summary.problem_gaps(name, "ovr", C, method).values()
        return max(stat.mean, 1e-9) if stat is not None else (np.inf if is_timelike else None)

    return _grid_boxes([m for m in summary.methods() if m != REFERENCE], value, "true gap", logarithmic=True)


Value = Callable[[str, float, str], float | None]


def _grid_boxes(
    present: Sequence[str], value: Value, quantity: str, *, zero: bool = False, logarithmic: bool = False
) -> Figure | None:
    """One panel per configuration (classes, scale, C), one box per method, one value per seed.

    Infinite values (of answers with q < 0, which have no objective) are counted beside the box of the others.
    """
    panels = list(product(data.GRID_CLASSES, data.GRID_SCALES, data.GRID_C))
    found, methods = dict[tuple, list[float]](), [method for method in GRID_METHODS if method in present]
    for (K, s, C), method in product(panels, methods):
        drawn = [value(data.grid_name(K, s, seed), C, method) for seed in data.GRID_SEEDS]
        if kept := [number for number in drawn if number is not None]:
            found[(K, s, C), method] = kept
    shown = [method for method in methods if any((panel, method) in found for panel in panels)]
    if not shown:
        return None
    figure, axes = plt.subplots(2, 4, figsize=(13.0, 5.8), sharex=True)
    for (K, s, C), ax in zip(panels, axes.flat, strict=True):
        boxes = {k: found[(K, s, C), m] for k, m in enumerate(shown) if ((K, s, C), m) in found}
        ax.set_title(f"K = {K}, s = {s:g}, C = {C:g} ({max(map(len, boxes.values()), default=0)} draws)", fontsize=9)
        if boxes:
            finite = {position: [v for v in values if v < np.inf] for position, values in boxes.items()}
            style: dict[str, Any] = {"widths": 0.6, "patch_artist": True, "showfliers": False}
            plot = ax.boxplot(list(finite.values()), positions=list(finite), medianprops={"color": "black"}, **style)
            for box, (position, values) in zip(plot["boxes"], boxes.items(), strict=True):
                box.set(facecolor=METHODS[shown[position]].colour, alpha=0.55, linewidth=0.8)
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
        ax.set_xticks(range(len(shown)), list(map(label, shown)), fontsize=8, rotation=40, ha="right")
        ax.set_xlim(-0.6, len(shown) - 0.4)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="y", which="both", labelsize=8)
    for ax in axes[:, 0]:
        ax.set_ylabel(quantity, fontsize=9)
    figure.tight_layout()
    return figure


#: What draws each figure, in the order of the page; texts.toml has their captions.
FIGURES: dict[str, Callable[[Summary], Figure | None]] = {
    "gallery": gallery,
    "gaussian-1-boundaries": boundaries,
    "tree-2-boundaries": tree_boundaries,
    "gap-distribution": gap_distribution,
    **{f"grid-{metric.replace('_', '-')}": partial(grid_improvement, metric=metric) for metric in GRID_LABELS},
    "grid-eta": grid_eta,
    "grid-gap": grid_gaps,
}


def draw_figures(report: Report, texts: Texts, summary: Summary, folder: Path) -> None:
    """Add what there are results for, in files as .png and .svg."""
    captions, improvement = texts["figures"], texts["figures"]["grid-improvement"]
    for name, draw in FIGURES.items():
        about = captions.get(name, improvement)
        metric = name.removeprefix("grid-").replace("-", "_")
        caption = about["caption"].format(GRID_LABELS.get(metric, ""))
        report.draw(Picture(folder / f"{name}.png", about["section"], caption), draw, summary, kinds=("svg",))
