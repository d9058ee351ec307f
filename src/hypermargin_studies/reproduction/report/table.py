"""Tables as values: entries that know the paper's number beside them, and their Markdown, CSV and HTML."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from hypermargin_studies.reproduction.report.explanations import Explanation

MARK = "▲"


@dataclass(frozen=True)
class Entry:
    """One place of a table. `value` is what it is sorted by; `why` is set where it differs from the paper's number."""

    text: str
    value: float | str | None = None
    paper: str = ""
    why: Explanation | None = None
    is_best: bool = False
    is_hole: bool = False

    @property
    def plain(self) -> str:
        """The entry on one line: ours, the paper's in brackets, and a mark with the name of the explanation."""
        text = f"{self.text} ({self.paper})" if self.paper else self.text
        return f"{text} {MARK}{self.why.name}" if self.why else text


@dataclass
class Table:
    """A title, a caption, columns and rows; `slug` names its files."""

    slug: str
    title: str
    columns: Sequence[str]
    rows: list[list[Entry]]
    caption: str = ""
    section: str = ""
    n_text: int = field(default=1)  # leading columns that hold words

    def footnotes(self) -> list[Explanation]:
        """The explanations that marks in this table refer to, once each."""
        return list(dict.fromkeys(entry.why for row in self.rows for entry in row if entry.why))


def to_markdown(table: Table, level: int = 3) -> str:
    """The table with its caption and footnotes."""
    lines = [f"{'#' * level} {table.title}", ""]
    if table.caption:
        lines += [table.caption, ""]
    lines.append("| " + " | ".join(table.columns) + " |")
    lines.append("|" + "|".join("---" if k < table.n_text else "---:" for k in range(len(table.columns))) + "|")
    for row in table.rows:
        cells = [f"**{entry.plain}**" if entry.is_best else entry.plain for entry in row]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", *(f"{MARK}{note.name}: {note.text}  " for note in table.footnotes())]
    return "\n".join(lines).rstrip() + "\n"


def to_csv(table: Table) -> str:
    """The table; columns in which the paper has numbers are followed by one with those and one with explanations."""
    compared = [any(row[k].paper for row in table.rows) for k in range(len(table.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header: list[str] = []
    for name, has_paper in zip(table.columns, compared, strict=True):
        header += [name, f"{name}: paper", f"{name}: differs because"] if has_paper else [name]
    writer.writerow(header)
    for row in table.rows:
        cells: list[str] = []
        for entry, has_paper in zip(row, compared, strict=True):
            cells.append(entry.text)
            if has_paper:
                cells += [entry.paper, entry.why.text if entry.why else ""]
        writer.writerow(cells)
    return out.getvalue()


def to_html(table: Table) -> str:
    """The table with a caption, sortable columns, a filter where it is long, and its footnotes."""
    head = "".join(
        f'<th{"" if k < table.n_text else " class=num"} tabindex="0">{escape(name)}</th>'
        for k, name in enumerate(table.columns)
    )
    body = "\n".join(
        "<tr>" + "".join(_td(entry, k < table.n_text) for k, entry in enumerate(row)) + "</tr>" for row in table.rows
    )
    search = '<input type="search" placeholder="filter rows" aria-label="filter rows">' if len(table.rows) > 13 else ""
    notes = "".join(f"<li><b>{MARK}{escape(n.name)}</b> {escape(n.text)}</li>" for n in table.footnotes())
    caption = f"<p class=caption>{escape(table.caption)}</p>" if table.caption else ""
    return (
        f'<figure class=table id="{table.slug}"><h3>{escape(table.title)}</h3>{caption}{search}'
        f"<div class=scroll tabindex=0><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
        + (f"<ul class=notes>{notes}</ul>" if notes else "")
        + "</figure>"
    )


def _td(entry: Entry, is_text: bool) -> str:
    classes = [name for name, on in (("hole", entry.is_hole), ("best", entry.is_best), ("marked", entry.why)) if on]
    attribute = f' class="{" ".join(classes)}"' if classes else ""
    value = "" if entry.value is None else f' data-value="{escape(str(entry.value))}"'
    title = f' title="{escape(entry.why.text)}"' if entry.why else ""
    mark = f"<sup>{MARK}{escape(entry.why.name)}</sup>" if entry.why else ""
    paper = f"<small>{escape(entry.paper)}</small>" if entry.paper else ""
    tag = "th scope=row" if is_text else "td"
    return f"<{tag}{attribute}{value}{title}>{escape(entry.text)}{mark}{paper}</{tag.split()[0]}>"
