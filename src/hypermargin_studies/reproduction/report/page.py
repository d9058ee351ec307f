"""The report: one HTML page that needs nothing else, and the same tables as Markdown and CSV."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from hypermargin_studies.reproduction.report.claims import agreement_table, contest_table
from hypermargin_studies.reproduction.report.figures import save_figures
from hypermargin_studies.reproduction.report.gap_tables import (
    certified_table,
    everything_table,
    fewer_problems_table,
    holes_table,
    methods_table,
    runtime_table,
    suboptimality_summary,
    suboptimality_table,
)
from hypermargin_studies.reproduction.report.paper_tables import experiment_tables, experiments
from hypermargin_studies.reproduction.report.sentences import other_findings, plain_svm_paragraph, run_notice
from hypermargin_studies.reproduction.report.table import Entry, Table, to_csv, to_html, to_markdown
from hypermargin_studies.reproduction.summary import Summary
from hypermargin_studies.workers.guard import Guard

TITLE = "Hyperbolic support vector machines: the paper's evidence, and what is true behind it"
#: Sections in the order of the page, and whether their tables are folded away at first.
SECTIONS = (
    ("The claims", False),
    ("Methods", False),
    ("The data", False),
    ("Synthetic data", False),
    ("Real data, one-vs-rest", False),
    ("Real data, one-vs-one", False),
    ("What the relaxations are worth", False),
    ("Runtimes", False),
    ("Gaussian grid", False),
    ("Real data, one-vs-rest, by C", True),
    ("Real data, one-vs-one, by C", True),
    ("Differences from the paper", True),
    ("Everything", True),
    ("Holes", True),
    ("Failed", False),
)
#: What makes the tables besides those of performance.
MADE: tuple[Callable[[Summary], Table], ...] = (
    contest_table,
    agreement_table,
    methods_table,
    suboptimality_summary,
    fewer_problems_table,
    certified_table,
    suboptimality_table,
    runtime_table,
    everything_table,
    holes_table,
)


def write_report(
    summary: Summary, folder: Path, facts: Mapping[str, str], guard: Guard, *, is_quick: bool = False
) -> Path:
    """Write report.html, report.md, tables/*.csv and figures/*; `facts` describe the run. Returns the page.

    A quick or unfinished run says so before anything else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = all_tables(summary, guard)
    figures = save_figures(summary, folder / "figures", guard)
    paragraph = guard.made("the first paragraph", plain_svm_paragraph, summary) or ""
    findings = guard.made("the findings", other_findings, summary) or []
    notice = run_notice(summary, is_quick)
    if guard.failures:
        tables.append(failures_table(guard))
        failed = f"{len(guard.failures)} parts of this report could not be made; its last section says which, and why."
        notice = f"{notice} {failed}".strip()
    (folder / "tables").mkdir(exist_ok=True)
    for table in tables:
        (folder / "tables" / f"{table.slug}.csv").write_text(to_csv(table), encoding="utf-8")
    (folder / "environment.json").write_text(json.dumps(dict(facts), indent=1) + "\n", encoding="utf-8")
    (folder / "report.md").write_text(_markdown(notice, paragraph, findings, facts, tables, figures), encoding="utf-8")
    page = folder / "report.html"
    page.write_text(_html(notice, paragraph, findings, facts, tables, figures, folder / "figures"), encoding="utf-8")
    return page


def all_tables(summary: Summary, guard: Guard) -> list[Table]:
    """Every table that has rows, by section."""
    tables: list[Table] = []
    for experiment in experiments():
        tables += guard.made(f"tables {experiment.slug}", experiment_tables, summary, experiment) or []
    for make in MADE:
        table = guard.made(make.__name__.replace("_", " "), make, summary)
        tables += [table] if table is not None else []
    tables.append(differences_table(tables))
    order = [name for name, _ in SECTIONS]
    return sorted((table for table in tables if table.rows), key=lambda table: order.index(table.section))


def failures_table(guard: Guard) -> Table:
    """The parts that could not be made."""
    rows = [[Entry(name), Entry(reason)] for name, reason in guard.failures]
    return Table("failed", "Parts of this report that could not be made", ["part", "reason"], rows, "", "Failed", 2)


def differences_table(tables: Sequence[Table]) -> Table:
    """Every marked number with its explanation."""
    rows = []
    for table in tables:
        for row in table.rows:
            for column, entry in zip(table.columns, row, strict=True):
                if entry.why is not None:
                    place = [Entry(table.title), row[0], Entry(column)]
                    rows.append([*place, Entry(entry.text, entry.value), Entry(entry.paper), Entry(entry.why.text)])
    return Table(
        "differences",
        "All numbers that differ from the paper's",
        ["table", "data", "column", "ours", "paper", "why"],
        rows,
        "Means more than a standard deviation apart: the larger of the paper's and ours, plus the paper's rounding.",
        "Differences from the paper",
        n_text=6,
    )


# -- Markdown ----------------------------------------------------------------------------------------------------------


def _markdown(
    notice: str,
    paragraph: str,
    findings: Sequence[str],
    facts: Mapping[str, str],
    tables: Sequence[Table],
    figures: Sequence[Any],
) -> str:
    parts = [
        f"# {TITLE}\n",
        *([f"> {notice}\n"] if notice else []),
        paragraph + "\n",
        *(f"* {text}" for text in findings),
        "",
    ]
    parts += [f"{key}: {value}  " for key, value in facts.items()]
    for section, _ in SECTIONS:
        here = [to_markdown(table) for table in tables if table.section == section]
        pictures = [
            f"![{caption}](figures/{name}.png)\n\n{caption}\n" for name, where, caption in figures if where == section
        ]
        if here or pictures:
            parts += [f"\n## {section}\n", *pictures, *here]
    return "\n".join(parts)


# -- HTML --------------------------------------------------------------------------------------------------------------


def _html(
    notice: str,
    paragraph: str,
    findings: Sequence[str],
    facts: Mapping[str, str],
    tables: Sequence[Table],
    figures: Sequence[tuple[str, str, str]],
    pictures: Path,
) -> str:
    body, links = [], []
    for section, folded in SECTIONS:
        here = [to_html(table) for table in tables if table.section == section]
        shown = [_picture(pictures / f"{name}.png", caption) for name, where, caption in figures if where == section]
        if not (here or shown):
            continue
        anchor = section.lower().replace(",", "").replace(" ", "-")
        links.append(f'<a href="#{anchor}">{escape(section)}</a>')
        content = "\n".join(shown + here)
        if folded:
            content = f"<details><summary>{_count(here)}</summary>\n{content}\n</details>"
        body.append(f'<section><h2 id="{anchor}">{escape(section)}</h2>\n{content}\n</section>')
    about = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts.items())
    banner = f'<p class="banner" role="note">{escape(notice)}</p>' if notice else ""
    items = "".join(f"<li>{escape(text)}</li>" for text in findings)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(TITLE)}</title>
<style>
{_asset("report.css")}</style>
</head>
<body>
<main>
<h1>{escape(TITLE)}</h1>
{banner}
<p class="lead">{escape(paragraph)}</p>
<ul class="findings">{items}</ul>
<p class="sub">Click a heading to sort. ▲ marks numbers more than a standard deviation from the paper's; the text behind
the mark stands below the table. Green: the best of ours in its row.</p>
<nav>{" ".join(links)}</nav>
{"".join(body)}
<section><h2 id="run">This run</h2><dl>{about}</dl></section>
</main>
<script>
{_asset("report.js")}</script>
</body>
</html>
"""


def _count(tables: Sequence[str]) -> str:
    return f"show {len(tables)} table{'s' if len(tables) != 1 else ''}"


def _picture(path: Path, caption: str) -> str:
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    alt = escape(caption)
    return (
        f'<figure class=picture id="{path.stem}"><div class=scroll tabindex=0><img alt="{alt}" '
        f'src="data:image/png;base64,{content}"></div><figcaption>{alt}</figcaption></figure>'
    )


def _asset(name: str) -> str:
    return files("hypermargin_studies.reproduction.report").joinpath(name).read_text(encoding="utf-8")
