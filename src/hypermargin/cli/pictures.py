"""Pictures in files: the only module of the command line that imports matplotlib."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no screen

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.metrics import ConfusionMatrixDisplay

from hypermargin.plotting import PoincareDisplay, TreeDisplay, plot_proof

__all__ = ["FORMATS", "PoincareDisplay", "TreeDisplay", "plot_proof", "save_confusion", "save_figure", "save_picture"]

FORMATS = (".png", ".pdf", ".svg")


def save_picture(display: PoincareDisplay | TreeDisplay, path: Path, title: str | None = None) -> None:
    """Write the figure of a display and close it."""
    figure = display.figure_
    assert isinstance(figure, Figure)
    if title is not None:
        display.ax_.set_title(title, pad=10)
    save_figure(figure, path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure and close it."""
    figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)


def save_confusion(matrix: np.ndarray, names: list[str], path: Path) -> None:
    """A confusion matrix, shape (n_classes, n_classes), coloured by the share of each true class."""
    n = len(names)
    figure, ax = plt.subplots(figsize=(3.5 + 0.45 * n, 3.0 + 0.45 * n))
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    display = ConfusionMatrixDisplay(share, display_labels=names)
    display.plot(
        ax=ax, cmap="Blues", include_values=False, xticks_rotation=90 if n > 4 else 0, im_kw={"vmin": 0, "vmax": 1}
    )
    for i, j in np.argwhere(matrix):
        colour = "white" if share[i, j] > 0.5 else "black"
        ax.text(j, i, str(matrix[i, j]), ha="center", va="center", color=colour, fontsize=9 if n <= 12 else 7)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    display.im_.colorbar.set_label("share of the true class")
    save_figure(figure, path)
