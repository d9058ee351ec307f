"""The summary at the head of the page of results, and a page with all tables beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypermargin_studies.accuracy.cells import Cell
from hypermargin_studies.accuracy.report import PICTURE, findings, report_markdown, save_picture
from hypermargin_studies.workers.marked_text import with_marked

MARK = "accuracy"


def write_results_page(results: dict[Cell, dict[str, Any]], path: Path, facts: Mapping[str, str]) -> Path:
    """Put the findings at the head of `path`, in place of those of an earlier run, and write the page of tables.

    The tables go to ``accuracy-tables.md`` beside it, the picture to ``images``. Returns the page of tables.
    """
    tables = path.with_name("accuracy-tables.md")
    has_picture = save_picture(results, path.parent / "images" / PICTURE)
    summary = [
        "## Which classifier is most accurate",
        "",
        f"Nested cross-validation of all models and their peers ([how](accuracy.md), [all tables]({tables.name})), "
        f"{facts['cells']}; what speaks against `auto` first.",
        "",
        *(f"* {text}" for text in findings(results)),
    ]
    if has_picture:
        summary += ["", f"![Mean ranks of all contestants](images/{PICTURE})"]
    path.write_text(with_marked(path.read_text(encoding="utf-8"), MARK, "\n".join(summary)), encoding="utf-8")
    shown = f"images/{PICTURE}" if has_picture else None
    tables.write_text(report_markdown(results, facts, shown), encoding="utf-8")
    return tables
