"""Every example runs as it stands, says something and leaves a picture."""

import runpy
from pathlib import Path

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_examples_are_there_and_short():
    assert len(EXAMPLES) >= 4
    for example in EXAMPLES:
        assert len(example.read_text().splitlines()) < 40


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    try:
        runpy.run_path(str(example), run_name="__main__")
    finally:
        plt.close("all")
    assert capsys.readouterr().out.strip()
    (picture,) = tmp_path.iterdir()
    pixels = matplotlib.image.imread(picture)[..., :3]
    assert min(pixels.shape[:2]) > 600
    assert len(np.unique((255 * pixels).astype(int).reshape(-1, 3), axis=0)) > 20  # more than an empty sheet
