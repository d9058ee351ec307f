"""Pictures in files: the only module of the command line that knows matplotlib."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no screen

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from hypermargin.plotting import PoincareDisplay, plot_proof

__all__ = ["FORMATS", "PoincareDisplay", "plot_proof", "save_figure", "save_picture"]

FORMATS = (".png", ".pdf", ".svg")


def save_picture(display: PoincareDisplay, path: Path, title: str | None = None) -> None:
    """Write the figure of a display and let go of it."""
    figure = display.figure_
    assert isinstance(figure, Figure)
    if title is not None:
        display.ax_.set_title(title, pad=10)
    save_figure(figure, path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure and let go of it."""
    figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)
