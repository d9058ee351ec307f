"""Mutants of code: every place that can be changed is found, and nothing else is; branches that cases reach."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = '''"""3 < 4 in a text."""

LEAST = 5


def chosen(values: list[int], least: float = 2.0) -> int:
    """Not 1 + 1."""
    count: int = 7
    if not values:
        raise ValueError(f"{1 + 1}")
    return min(values) if count < least and True else -count
'''


@pytest.fixture
def mutate(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import mutate

    yield mutate
    del sys.modules["mutate"]


def test_operators_numbers_signs_and_conditions_change_and_texts_and_types_do_not(mutate, monkeypatch, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    found = list(mutate.mutants_of(Path("module.py")))
    assert {(m.old, m.new) for m in found} == {
        ("7", "8"),
        ("not values", "(False and (not values))"),
        ("not ", ""),
        ("min", "max"),
        ("<", "<="),
        ("and", "or"),
        ("-", ""),
    }
    for mutant in found:
        ast.parse(SOURCE[: mutant.start] + mutant.new + SOURCE[mutant.end :])


def test_the_command_lists_places_of_the_checker_and_the_solver(mutate, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mutate.py", "--only", "certificates/core", "--count", "3", "--list"])
    assert mutate.main() == 0
    first, *places = capsys.readouterr().out.splitlines()
    assert first.endswith("3 drawn")
    assert len(places) == 3
    assert all(place.startswith("src/hypermargin/certificates/core/") for place in places)


def test_the_tester_counts_the_branches_that_its_cases_reach(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "fuzz.py"), "--coverage", "2", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2 cases" in done.stdout
    files = json.loads((tmp_path / "coverage.json").read_text())["files"]
    reached = {name.split("/hypermargin/")[-1]: found["summary"]["covered_branches"] for name, found in files.items()}
    assert reached["solvers/exact/compiled/master.py"] > 20  # which is compiled: here it was interpreted
    assert reached["solvers/exact/asinh/search.py"] == 0
