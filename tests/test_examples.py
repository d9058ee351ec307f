"""Every example runs as it stands, says something and leaves a picture."""

import runpy
from pathlib import Path

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
LESSONS = sorted((FOLDER / "tutorials").glob("*.py"))


def test_examples_are_there_and_short():
    assert len(EXAMPLES) >= 15
    assert len(LESSONS) == 5
    for example in EXAMPLES:
        assert len(example.read_text().splitlines()) <= 60


@pytest.mark.parametrize("program", [*EXAMPLES, *LESSONS], ids=lambda path: path.stem)
def test_every_program_begins_with_a_title_and_a_text(program):
    title, line, blank, text, *_ = program.read_text(encoding="utf-8").splitlines()[1:]
    assert line == "=" * len(title)
    assert not blank
    assert text.lstrip("`")[0].isupper()


@pytest.mark.parametrize("example", [*EXAMPLES, *LESSONS], ids=lambda path: path.stem)
def test_example_runs(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    try:
        runpy.run_path(str(example), run_name="__main__")
    finally:
        plt.close("all")
    assert capsys.readouterr().out.strip()
    (picture,) = tmp_path.glob("*.png")
    pixels = matplotlib.image.imread(picture)[..., :3]
    assert min(pixels.shape[:2]) >= 600
    assert len(np.unique((255 * pixels).astype(int).reshape(-1, 3), axis=0)) > 20  # more than an empty sheet
