"""What the robustness experiment measured, as a Markdown table and a figure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from hypermargin.arrays import Array
from hypermargin.plotting.palette import CLASS_COLOURS
from hypermargin_studies.robustness.measurements import METHODS, Measurement

#: What is measured, and how it is called.
ASPECTS = {
    "clean": "clean",
    "noisy_test": "noise on test points",
    "noisy_train": "noise on training points",
    "certified": "worst case within rho",
}
REFERENCE = "exact"


def by_dataset(measurements: Sequence[Measurement]) -> Mapping[tuple[str, float], Mapping[str, Array]]:
    """Accuracies by (method, size) and aspect ("attacked" as well): one per data set, averaged over its draws.

    The order of the data sets is the same everywhere, so that differences between methods can be taken.
    """
    values: dict[tuple[str, float], dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for m in measurements:
        for aspect in (*ASPECTS, "attacked"):
            values[m.method, m.size][aspect][m.dataset].append(getattr(m, aspect))
    names = sorted({m.dataset for m in measurements})
    return {
        key: {aspect: np.array([np.mean(sets[name]) for name in names]) for aspect, sets in aspects.items()}
        for key, aspects in values.items()
    }


def markdown(measurements: Sequence[Measurement]) -> str:
    """One table per size. Behind each mean: the difference to plain `exact`, its standard error over data sets."""
    table = by_dataset(measurements)
    lines = []
    for size in sorted({size for _, size in table}):
        lines += [f"### Size {size:g}", "", "| Method | " + " | ".join(ASPECTS.values()) + " |"]
        lines.append("|---|" + "---|" * len(ASPECTS))
        for method in (name for name in METHODS if (name, size) in table):
            cells = [_cell(table, method, size, aspect) for aspect in ASPECTS]
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _cell(table: Mapping[tuple[str, float], Mapping[str, Array]], method: str, size: float, aspect: str) -> str:
    values = 100.0 * table[method, size][aspect]
    text = f"{values.mean():.1f}"
    if aspect == "certified":
        upper = 100.0 * table[method, size]["attacked"].mean()
        text = text if upper - values.mean() < 0.05 else f"{values.mean():.1f} to {upper:.1f}"
    if method == REFERENCE or (REFERENCE, size) not in table:
        return text
    difference = values - 100.0 * table[REFERENCE, size][aspect]
    return f"{text} ({difference.mean():+.1f} ± {_standard_error(difference):.1f})"


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


def figure(measurements: Sequence[Measurement]) -> Figure:
    """Differences to plain `exact` in percentage points against the size of the noise, averaged over data sets."""
    table = by_dataset(measurements)
    sizes = sorted({size for _, size in table})
    methods = [name for name in METHODS if name != REFERENCE and (name, sizes[0]) in table]
    drawn, axes = plt.subplots(1, len(ASPECTS), figsize=(14.0, 4.4), sharex=True, layout="constrained")
    for ax, (aspect, title) in zip(axes, ASPECTS.items(), strict=True):
        ax.axhline(0.0, color="#808080", linewidth=1.0)
        for k, method in enumerate(methods):
            rows = [100.0 * (table[method, size][aspect] - table[REFERENCE, size][aspect]) for size in sizes]
            shift = 1.0 + 0.02 * (k - 0.5 * len(methods))  # bars side by side
            ax.errorbar(
                np.array(sizes) * shift,
                [row.mean() for row in rows],
                [_standard_error(row) for row in rows],
                label=method,
                color=CLASS_COLOURS[k],
                marker="o" if "exact" in method else "s",
                linestyle="solid" if "geodesic" in method else ((0, (5, 2)) if "," in method else (0, (1, 1.5))),
                markersize=4.5,
                capsize=2.0,
            )
        ax.set(title=title, xscale="log", xlabel="size of noise and sets", xticks=sizes)
        ax.set_xticklabels([f"{size:g}" for size in sizes])
        ax.minorticks_off()
    axes[0].set_ylabel("accuracy against plain exact, points")
    handles, labels = axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return drawn


def write(measurements: Sequence[Measurement], folder: Path) -> list[Path]:
    """The table and the figure as files in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    page, picture = folder / "robustness.md", folder / "robustness.png"
    datasets = sorted({m.dataset for m in measurements})
    seeds = len({m.seed for m in measurements})
    heading = (
        "# Robustness\n\nAccuracy in per cent, averaged over the data sets "
        f"{', '.join(datasets)} ({seeds} draw{'s' if seeds > 1 else ''} each). In brackets: the difference to plain "
        "`exact`, and its standard error over the data sets.\n\n"
    )
    page.write_text(heading + markdown(measurements), encoding="utf-8")
    drawn = figure(measurements)
    drawn.savefig(picture, dpi=130)
    plt.close(drawn)
    return [page, picture]
