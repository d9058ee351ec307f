"""The studies add their commands to `hypermargin`, which does without them where they are not installed."""

import sys

import pytest

import hypermargin_studies
from hypermargin.cli import main


@pytest.mark.parametrize("command", hypermargin_studies.COMMANDS)
def test_every_command_explains_itself(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"hypermargin {command}" in capsys.readouterr().out
    assert main([command, "--no-such-option"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_library_stands_without_them(monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["hypermargin.cli.main"], "STUDIES", "package_that_is_not_installed")
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "certificate" in shown
    assert "the paper" not in shown
    assert main(["reproduce"]) == 2
    assert "invalid choice: 'reproduce'" in capsys.readouterr().err
