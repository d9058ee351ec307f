"""`hypermargin plot --proof` from a file of points to a picture, and its mistakes."""

import numpy as np
import pytest

from hypermargin.cli.main import main
from hypermargin.datasets import make_gaussian_mixture


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, classes, dim in (("two", 2, 3), ("three", 3, 2)):
        X, y = make_gaussian_mixture(12, classes, dim=dim, scale=0.9, random_state=0, return_X_y=True)
        np.savez(f"{name}.npz", X=X, y=y)
    return tmp_path


def test_proof_is_drawn_in_any_dimension(folder, capsys):
    assert main(["plot", "two.npz", "--proof", "-o", "proof.svg"]) == 0
    assert capsys.readouterr().out.strip() == "wrote proof.svg"
    assert (folder / "proof.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("three.npz", "--proof"), "give points of two classes"),
        (("two.npz", "--proof", "--zoom", "data"), "--proof draws curves"),
        (("two.npz", "--proof", "--methods", "pgd"), "not allowed with argument"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, arguments, message):
    try:
        code = main(["plot", *arguments, "-o", "proof.png"])
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error
    assert not (folder / "proof.png").exists()
