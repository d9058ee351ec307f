"""`hypermargin reproduce` end to end, and its page in a real browser."""

import csv
import json
import re
import shutil

import pytest

from hypermargin.cli import main
from hypermargin_studies.reproduction import figures, report
from hypermargin_studies.reproduction.methods import METHODS

COMMAND = ("reproduce", "--quick", "--datasets", "gaussian_1", "--jobs", "1")
#: Sorts the table of everything by a column and says what the reader would then see.
SORTED = """(() => {
  const table = document.querySelector("#everything table");
  const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === "NAME");
  table.tHead.rows[0].cells[column].click();
  return [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
})()"""


def numbers(texts):
    return [float(text.split(" ")[0]) for text in texts if text != "–"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    output = tmp_path_factory.mktemp("reproduction")
    assert main([*COMMAND, "--output", str(output)]) == 0
    return output


def test_the_report_is_there_in_all_forms(folder):
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", html), "the page must need nothing else"
    assert html.count("<table>") == len(list((folder / "tables").glob("*.csv")))
    for name in ("gallery", "gaussian-1-boundaries", "gap-distribution"):
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    assert "85.50 ± 8.28 (85.50 ± 8.28)" in markdown, "the SDP as published gives the paper's own number"
    assert "Python" in json.loads((folder / "environment.json").read_text())


def test_every_method_is_in_the_tables_and_no_part_failed(folder):
    with open(folder / "tables" / "everything.csv", newline="", encoding="utf-8") as file:
        assert {row["method"] for row in csv.DictReader(file)} == {method.label for method in METHODS.values()}
    assert not (folder / "tables" / "failed.csv").exists()
    assert not (folder / "tables" / "holes.csv").exists()


def test_parts_that_fail_are_named_and_cost_no_report(folder, tmp_path, monkeypatch, capsys):
    def broken(summary):
        raise KeyError("euclidean")

    shutil.copytree(folder / "cells", tmp_path / "cells")
    monkeypatch.setitem(figures.FIGURES, "gallery", broken)
    monkeypatch.setattr(report, "MADE", (broken, *report.MADE))
    monkeypatch.setattr(report, "plain_svm_paragraph", broken)
    assert main([*COMMAND, "--output", str(tmp_path), "--report-only"]) == 0
    assert "3 parts of the report could not be made" in capsys.readouterr().err
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "3 parts of this report could not be made" in text
    assert "| figure gallery | KeyError: 'euclidean' |" in text
    assert (tmp_path / "figures" / "gap-distribution.png").exists()
    assert "Parts of this report that could not be made" in (tmp_path / "report.html").read_text("utf-8")


def test_a_second_run_computes_nothing(folder, capsys):
    assert main([*COMMAND, "--output", str(folder), "--plan"]) == 0
    assert "63 finished before; 0 to run" in capsys.readouterr().out


def test_the_page_in_a_browser(folder, browser):
    browser.open(folder / "report.html", ready="document.documentElement.dataset.ready")
    assert browser.evaluate("document.documentElement.dataset.ready") == str(
        browser.evaluate("document.querySelectorAll('table').length")
    )
    assert browser.evaluate("document.querySelectorAll('table').length") >= 7
    pictures = browser.evaluate("[...document.images].map((image) => image.naturalWidth)")
    assert len(pictures) >= 3
    assert min(pictures) > 200
    assert browser.evaluate("document.querySelector('p.lead').textContent").startswith("A plain linear SVM")
    assert browser.evaluate("document.querySelector('.banner').textContent").startswith("A quick run")
    up, down = (browser.evaluate(SORTED.replace("NAME", "test accuracy")) for _ in range(2))
    values = numbers(up)
    assert len(values) == len(METHODS)
    assert values == sorted(values) == numbers(down)[::-1]


def test_holes_are_last_in_both_orders(folder, browser):
    """The plain SVM has no hinge objective: its dash stays below the numbers whichever way they run."""
    browser.open(folder / "report.html", ready="document.documentElement.dataset.ready")
    up, down = (browser.evaluate(SORTED.replace("NAME", "train hinge")) for _ in range(2))
    values = numbers(up)
    assert 3 < len(values) < len(up)
    assert up[len(values) :] == down[len(values) :] == ["–"] * (len(up) - len(values))
    assert values == sorted(values) == numbers(down)[::-1]


def test_headings_stay_in_sight_and_the_page_fits_a_phone(folder, browser):
    browser.size(390, 780, mobile=True)
    browser.prefer(prefers_color_scheme="dark")
    browser.open(folder / "report.html", ready="document.documentElement.dataset.ready")
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    heading_above = """(() => {
      const box = document.querySelector("#methods .scroll");
      box.style.maxHeight = "120px"; box.scrollTop = 80; box.scrollLeft = 30;
      const cell = box.querySelector("thead th").getBoundingClientRect(), frame = box.getBoundingClientRect();
      return [cell.top - frame.top, cell.left - frame.left, box.scrollTop];
    })()"""
    top, left, scrolled = browser.evaluate(heading_above)
    assert scrolled > 20
    assert abs(top) < 3
    assert abs(left) < 3
    # Words in a figure are as large as they would be on paper 46 rem wide; the box around it scrolls.
    assert browser.evaluate("document.querySelector('.picture img').getBoundingClientRect().width") >= 700


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--datasets", "nowhere"), "unknown data set 'nowhere'; the data sets are gaussian_1"),
        (("--methods", "magic"), "unknown method 'magic'; the methods are pgd-published"),
        (("--schemes", "all"), "unknown scheme 'all'"),
        (("-C", "one"), "--C must be numbers"),
        (("-C", "-1"), "C must be positive"),
        (("--jobs", "0"), "--jobs must be at least 1"),
        (("--time-limit", "0"), "--time-limit must be positive"),
    ],
)
def test_mistakes_are_one_line(arguments, complaint, capsys, tmp_path):
    assert main(["reproduce", "--output", str(tmp_path), *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_a_report_of_a_cache_says_why_cells_are_missing(folder, tmp_path, capsys):
    shutil.copytree(folder / "cells", tmp_path / "cells")
    asked = ["reproduce", "--datasets", "gaussian_1", "--methods", "moment-published,svm-lorentz"]
    reported = [*asked, "--output", str(tmp_path), "--report-only", "--results-page", str(tmp_path / "results.md")]
    assert main(reported) == 0
    assert "> Unfinished: 4 of 15 cells have not been run yet." in (tmp_path / "report.md").read_text("utf-8")
    assert '<p class="banner" role="note">Unfinished' in (tmp_path / "report.html").read_text("utf-8")
    assert "run: full, unfinished, 11 cells finished, 4 missing" in (tmp_path / "results-tables.md").read_text("utf-8")
    # A run with a limit that such cells are far above is finished, although they are holes.
    assert main([*asked, "--output", str(tmp_path), "--time-limit", "0.1"]) == 0
    assert main(reported) == 0
    tables = (tmp_path / "results-tables.md").read_text("utf-8")
    assert "run: full, 11 cells finished, 4 missing, at most 0.1 to 60 s per cell" in tables
    assert re.search(r"Moment, published \| skipped \| 4 \| estimated at \d+ s, far more than 0.1 s", tables)
    findings = (tmp_path / "results.md").read_text("utf-8")
    assert "(results-tables.md)" in findings
    assert "(results.md)" in tables
    assert not {line for line in findings.splitlines() if line.startswith("## ")} & set(tables.splitlines())
    assert "4 cells: skipped; the report lists them" in capsys.readouterr().err


def test_a_device_that_is_not_there_is_one_line(tmp_path, capsys):
    assert main(["reproduce", "--output", str(tmp_path), "--device", "no-such-device"]) == 2
    error = capsys.readouterr().err
    assert "--device needs PyTorch" in error or "PyTorch cannot use the device 'no-such-device'" in error
    assert error.count("\n") == 1
