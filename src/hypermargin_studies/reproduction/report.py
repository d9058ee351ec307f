"""The report of a run: pages, tables as CSV and figures; and two pages for the documentation."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from hypermargin_studies.engine.report import Entry, Guard, Report, Table, marked, to_csv, to_markdown
from hypermargin_studies.reproduction.claims import (
    agreement_table,
    contest_table,
    other_findings,
    plain_svm_paragraph,
    run_notice,
)
from hypermargin_studies.reproduction.figures import save_figures
from hypermargin_studies.reproduction.summary import Summary
from hypermargin_studies.reproduction.tables import (
    certified_table,
    everything_table,
    experiment_tables,
    experiments,
    fewer_problems_table,
    holes_table,
    methods_table,
    runtime_table,
    suboptimality_summary,
    suboptimality_table,
)

TITLE = "Hyperbolic support vector machines: the paper's evidence, and what is true behind it"
HINT = (
    "Click a heading to sort. ▲ marks numbers more than a standard deviation from the paper's; the text behind the "
    "mark stands below the table. Green: the best of ours in its row."
)
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
#: Tables that the second page of the documentation shows besides; the report has the others.
SHOWN: tuple[str, ...] = (
    "agreement",
    *("synthetic-accuracy", "synthetic-gaps"),
    *(f"real-{scheme}-best-accuracy" for scheme in ("ovr", "ovo")),
    *("suboptimality-summary", "suboptimality-fewer", "certified", "runtime", "methods", "holes"),
)


def write_report(
    summary: Summary, folder: Path, facts: Mapping[str, str], guard: Guard, *, is_quick: bool = False
) -> Path:
    """Write report.html, report.md, tables/*.csv and figures/*; `facts` describe the run. Returns the page.

    A quick or unfinished run says so before anything else. Parts that fail are left out and listed.
    """
    tables = all_tables(summary, guard)
    pictures = save_figures(summary, folder / "figures", guard)
    paragraph = guard.made("the first paragraph", plain_svm_paragraph, summary) or ""
    findings = guard.made("the findings", other_findings, summary) or []
    notice = " ".join(text for text in (run_notice(summary, is_quick), guard.notice()) if text)
    tables += [guard.table()] if guard.failures else []
    (folder / "tables").mkdir(exist_ok=True)
    for table in tables:
        (folder / "tables" / f"{table.slug}.csv").write_text(to_csv(table), encoding="utf-8")
    (folder / "environment.json").write_text(json.dumps(dict(facts), indent=1) + "\n", encoding="utf-8")
    return Report(TITLE, SECTIONS, facts, tables, pictures, findings, paragraph, notice, HINT).write(folder, "report")


def all_tables(summary: Summary, guard: Guard) -> list[Table]:
    """Every table that has rows."""
    tables: list[Table] = []
    for experiment in experiments():
        tables += guard.made(f"tables {experiment.slug}", experiment_tables, summary, experiment) or []
    for make in MADE:
        table = guard.made(make.__name__.replace("_", " "), make, summary)
        tables += [] if table is None else [table]
    return [table for table in (*tables, differences_table(tables)) if table.rows]


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


# -- pages of the documentation ----------------------------------------------------------------------------------------


def write_results_page(summary: Summary, path: Path, facts: Mapping[str, str], guard: Guard) -> Path:
    """Two pages: `path` with the findings, and beside it the tables and the run they come from, whose path is returned.

    The second page is called after the first: ``results-tables.md`` for ``results.md``.
    """
    tables_path = path.with_name(f"{path.stem}-tables{path.suffix}")
    made_by = "Generated by `hypermargin reproduce --results-page`; not edited by hand."
    tables = {table.slug: table for table in all_tables(summary, guard)}
    findings = [
        "# Results\n",
        f"{made_by} [All tables]({tables_path.name}) has the numbers behind these findings and the run they come from; "
        "[reproduction](reproduction.md) says how to run it again.\n",
        (guard.made("the first paragraph", plain_svm_paragraph, summary) or "") + "\n",
        *(f"* {text}" for text in guard.made("the findings", other_findings, summary) or ()),
        "",
        *_in_markdown(tables, ["exact-against-paper"]),
    ]
    shown = [
        "# Results: all tables\n",
        f"{made_by} [Results]({path.name}) says what the tables show. The whole report of the command has figures and "
        "every other table of the paper.\n",
        "## The run\n",
        *(f"* {key}: {value}" for key, value in facts.items()),
        "",
        *_in_markdown(tables, SHOWN),
    ]
    path.write_text(_with_other_parts("\n".join(findings), path), encoding="utf-8")
    tables_path.write_text("\n".join(shown), encoding="utf-8")
    return tables_path


def _with_other_parts(text: str, path: Path) -> str:
    """The text with what `hypermargin accuracy` has written at the head of the page before."""
    kept = marked(path.read_text(encoding="utf-8"), "accuracy") if path.exists() else None
    return text if kept is None else text.replace("\n", f"\n\n{kept}\n", 1)


def _in_markdown(tables: Mapping[str, Table], slugs: Iterable[str]) -> list[str]:
    return [to_markdown(tables[slug], level=2) for slug in slugs if slug in tables]
