"""`hypermargin reproduce` end to end, and its page in a real browser."""

import json
import re
import shutil
import subprocess

import pytest

from hypermargin.cli import main

COMMAND = ("reproduce", "--datasets", "gaussian_1", "--methods", "sdp-published,exact,svm-lorentz", "--jobs", "2")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
#: Sorts and filters the first long table and reports what the reader would then see.
PROBE = """<script>
const table = document.querySelector("#everything table");
const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === "test accuracy");
const rows = () => [...table.tBodies[0].rows].filter((row) => !row.hidden);
const shown = () => rows().map((row) => row.cells[column].dataset.value);
const report = {tables: document.querySelectorAll("table").length};
table.tHead.rows[0].cells[column].click();
report.ascending = shown();
table.tHead.rows[0].cells[column].click();
report.descending = shown();
report.pictures = [...document.images].map((image) => image.naturalWidth);
report.ready = document.documentElement.dataset.ready;
report.lead = document.querySelector("p").textContent;
const node = document.createElement("pre");
node.id = "probe";
node.textContent = JSON.stringify(report);
document.body.append(node);
</script>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    output = tmp_path_factory.mktemp("reproduction")
    assert main([*COMMAND, "--output", str(output)]) == 0
    return output


def test_the_report_is_there_in_all_forms(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page), "the page must need nothing else"
    assert page.count("<table>") == len(list((folder / "tables").glob("*.csv")))
    for name in ("gallery", "gaussian-1-boundaries", "gap-distribution"):
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / "figures" / f"{name}.svg").read_text(encoding="utf-8")
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    assert "85.50 ± 8.28 (85.50 ± 8.28)" in markdown, "the SDP as published gives the paper's own number"
    assert "Python" in json.loads((folder / "environment.json").read_text())


def test_a_second_run_computes_nothing(folder, capsys):
    assert main([*COMMAND, "--output", str(folder), "--plan"]) == 0
    assert "15 finished before; 0 to run" in capsys.readouterr().out


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome on the path")
def test_the_page_in_a_browser(folder, tmp_path):
    page = tmp_path / "probed.html"
    text = (folder / "report.html").read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom")
    done = subprocess.run(
        (BROWSER, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=4000", page.as_uri()),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:]
    report = json.loads(found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert report["ready"] == str(report["tables"])
    assert report["tables"] >= 7
    assert len(report["pictures"]) >= 3
    assert min(report["pictures"]) > 200
    values = [float(value) for value in report["ascending"]]
    assert len(values) == 3
    assert values == sorted(values)
    assert report["descending"] == report["ascending"][::-1]
    assert report["lead"].startswith("A plain linear SVM")


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
    report = [*asked, "--output", str(tmp_path), "--report-only", "--results-page", str(tmp_path / "results.md")]
    assert main(report) == 0
    assert "run: full, unfinished, 10 cells finished, 5 missing" in (tmp_path / "results-tables.md").read_text("utf-8")
    # A run with a limit that such cells are far above is finished, although they are holes.
    assert main([*asked, "--output", str(tmp_path), "--time-limit", "0.1"]) == 0
    assert main(report) == 0
    page = (tmp_path / "results-tables.md").read_text("utf-8")
    assert "run: full, 10 cells finished, 5 missing, at most 0.1 to 900 s per cell" in page
    assert re.search(r"Moment, published \| skipped \| 5 \| estimated at \d+ s, far more than 0.1 s", page)
    findings = (tmp_path / "results.md").read_text("utf-8")
    assert "(results-tables.md)" in findings
    assert "(results.md)" in page
    assert not {line for line in findings.splitlines() if line.startswith("## ")} & set(page.splitlines())
    assert "5 cells: skipped; the report lists them" in capsys.readouterr().err


def test_a_device_that_is_not_there_is_one_line(tmp_path, capsys):
    assert main(["reproduce", "--output", str(tmp_path), "--device", "no-such-device"]) == 2
    error = capsys.readouterr().err
    assert "--device needs PyTorch" in error or "PyTorch cannot use the device 'no-such-device'" in error
    assert error.count("\n") == 1
