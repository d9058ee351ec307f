"""Reports: tables and pictures as values, and pages of them in Markdown and HTML that need nothing else."""

import base64
import csv
import io
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from itertools import chain
from pathlib import Path
from string import Template
from typing import Any, TypeVar

MARK = "▲"
#: Tables with more rows, which the eye does not take in at once, have a field to filter them.
FILTERED = 13
#: The section of parts that could not be made.
FAILED_PARTS = "Failed"
T = TypeVar("T")


@dataclass(frozen=True)
class Note:
    """A text below a table, and the name of the mark that refers to it."""

    name: str
    text: str


@dataclass(frozen=True)
class Entry:
    """One place of a table. `value` is what it is sorted by; `why` is set where it differs from the paper's number."""

    text: str
    value: float | str | None = None
    paper: str = ""
    why: Note | None = None
    is_best: bool = False
    is_hole: bool = False

    @property
    def plain(self) -> str:
        """The entry on one line: ours, the paper's in brackets, and a mark with the name of the explanation."""
        text = f"{self.text} ({self.paper})" if self.paper else self.text
        return f"{text} {MARK}{self.why.name}" if self.why else text


def number(value: float, form: str = ".0f", unit: str = "") -> Entry:
    """A number as an entry that is sorted by its value."""
    return Entry(f"{value:{form}}{unit}", float(value))


@dataclass
class Table:
    """A title, a caption, columns and rows, in which a text stands for an entry of it; `slug` names its files."""

    slug: str
    title: str
    columns: Sequence[str]
    rows: list[Any]
    caption: str = ""
    section: str = ""
    n_text: int = 1  # leading columns that hold words

    def __post_init__(self) -> None:
        self.rows = [[Entry(entry) if isinstance(entry, str) else entry for entry in row] for row in self.rows]

    def footnotes(self) -> list[Note]:
        """The explanations that marks in this table refer to, once each."""
        return list(dict.fromkeys(entry.why for row in self.rows for entry in row if entry.why))


class Texts:
    """The file texts.toml of a study: what its report says of itself, of its tables and of its figures."""

    def __init__(self, package: str) -> None:
        self._texts = tomllib.loads(files(package).joinpath("texts.toml").read_text(encoding="utf-8"))

    def __getitem__(self, name: str) -> Any:
        return self._texts[name]

    def table(
        self, name: str, rows: list[Any], columns: Sequence[str] = (), slug: str = "", section: str = "", **values: Any
    ) -> Table:
        """The table described under `name`; `values` stand in its title and caption, where they are in braces."""
        about = self._texts["tables"][name]
        title, caption = (about.get(part, "").format(**values) for part in ("title", "caption"))
        section, columns = section or about["section"], columns or about["columns"]
        return Table(slug or name, title, columns, rows, caption, section, about.get("n_text", 1))


def to_markdown(table: Table, level: int = 3) -> str:
    """The table with its caption and footnotes."""
    lines = [f"{'#' * level} {table.title}", ""]
    if table.caption:
        lines += [table.caption, ""]
    aligned = ("---" if k < table.n_text else "---:" for k in range(len(table.columns)))
    lines += ["| " + " | ".join(table.columns) + " |", "|" + "|".join(aligned) + "|"]
    for row in table.rows:
        cells = [f"**{entry.plain}**" if entry.is_best else entry.plain for entry in row]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += ["", *(f"{MARK}{note.name}: {note.text}  " for note in table.footnotes())]
    return "\n".join(lines).rstrip() + "\n"


def to_csv(table: Table) -> str:
    """The table; columns in which the paper has numbers are followed by one with those and one with explanations."""
    widths = [3 if any(row[k].paper for row in table.rows) else 1 for k in range(len(table.columns))]
    lines = [[(name, f"{name}: paper", f"{name}: differs because") for name in table.columns]]
    lines += [[(entry.text, entry.paper, entry.why.text if entry.why else "") for entry in row] for row in table.rows]
    out = io.StringIO()
    for line in lines:
        texts = chain.from_iterable(triple[:width] for triple, width in zip(line, widths, strict=True))
        csv.writer(out, lineterminator="\n").writerow(texts)
    return out.getvalue()


def to_html(table: Table) -> str:
    """The table with a caption, sortable columns, a filter where it is long, and its footnotes."""
    kinds = ["" if k < table.n_text else " class=num" for k in range(len(table.columns))]
    heads = [f'<th{kind} tabindex="0">{escape(name)}</th>' for kind, name in zip(kinds, table.columns, strict=True)]
    rows = ["".join(_td(entry, k < table.n_text) for k, entry in enumerate(row)) for row in table.rows]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    search = '<input type="search" placeholder="filter rows" aria-label="filter rows">' * (len(rows) > FILTERED)
    notes = "".join(f"<li><b>{MARK}{escape(n.name)}</b> {escape(n.text)}</li>" for n in table.footnotes())
    caption = f"<p class=caption>{escape(table.caption)}</p>" * bool(table.caption)
    head = f'<figure class=table id="{table.slug}"><h3>{escape(table.title)}</h3>{caption}{search}'
    shown = f"<table><thead><tr>{''.join(heads)}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f"{head}<div class=scroll tabindex=0>{shown}</div>{f'<ul class=notes>{notes}</ul>' * bool(notes)}</figure>"


def _td(entry: Entry, is_text: bool) -> str:
    classes = [name for name, on in (("hole", entry.is_hole), ("best", entry.is_best), ("marked", entry.why)) if on]
    attribute = f' class="{" ".join(classes)}"' if classes else ""
    value = "" if entry.value is None else f' data-value="{escape(str(entry.value))}"'
    title = f' title="{escape(entry.why.text)}"' if entry.why else ""
    mark = f"<sup>{MARK}{escape(entry.why.name)}</sup>" if entry.why else ""
    paper = f"<small>{escape(entry.paper)}</small>" if entry.paper else ""
    tag = "th scope=row" if is_text else "td"
    return f"<{tag}{attribute}{value}{title}>{escape(entry.text)}{mark}{paper}</{tag.split()[0]}>"


@dataclass(frozen=True)
class Picture:
    """A .png file, its section and its caption."""

    path: Path
    section: str
    caption: str

    def html(self) -> str:
        content, alt = base64.b64encode(self.path.read_bytes()).decode("ascii"), escape(self.caption)
        return (
            f'<figure class=picture id="{self.path.stem}"><div class=scroll tabindex=0><img alt="{alt}" '
            f'src="data:image/png;base64,{content}"></div><figcaption>{alt}</figcaption></figure>'
        )


@dataclass
class Report:
    """A page: what a reader must know first, findings in words, sections of pictures and tables, facts about the run.

    `sections` are the names in their order, with whether a section is folded away at first. Parts are made one by one:
    a part that fails costs none of the others, and is listed with why.
    """

    title: str
    sections: Sequence[tuple[str, bool]]
    facts: Mapping[str, str]
    hint: str = "Click a heading to sort."
    notice: str = ""
    paragraph: str = ""
    findings: Sequence[str] = ()
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)

    def made(self, name: str, make: Callable[..., T], *arguments: object) -> T | None:
        """What `make` returns; None if it failed."""
        try:
            return make(*arguments)
        except Exception as error:
            self.failures.append((name, f"{type(error).__name__}: {error}"))
            return None

    def add(self, name: str, make: Callable[..., Table | list[Table]], *arguments: object) -> None:
        """Add the table, or the tables, that `make` returns; those without rows are left out."""
        made = self.made(name, make, *arguments)
        self.tables += [table for table in ([made] if isinstance(made, Table) else made or []) if table.rows]

    def draw(self, picture: Picture, make: Callable[..., Any], *arguments: object, kinds: Sequence[str] = ()) -> None:
        """Add the figure that `make` returns, if it is one; it is saved in the picture's file, and as other kinds."""
        if self.made(f"figure {picture.path.stem}", _save, picture.path, kinds, make, *arguments):
            self.pictures.append(picture)

    @property
    def failed(self) -> Table:
        """The parts that could not be made; without rows if there are none."""
        title = "Parts of this report that could not be made"
        return Table("failed", title, ["part", "reason"], self.failures, "", FAILED_PARTS, 2)

    def _notice(self) -> str:
        """The notice, and a sentence if a part failed."""
        text = f"{len(self.failures)} parts of this report could not be made; its last section says which, and why."
        return f"{self.notice} {text * bool(self.failures)}".strip()

    def write(self, folder: Path, name: str) -> Path:
        """Write ``name.html`` and ``name.md``; returns the first."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(self.markdown(folder), encoding="utf-8")
        page = folder / f"{name}.html"
        page.write_text(self.html(), encoding="utf-8")
        return page

    def _parts(self) -> list[tuple[str, bool, list[Picture], list[Table]]]:
        """What there is in each section; sections with nothing are left out."""
        found = []
        for name, folded in (*self.sections, (FAILED_PARTS, False)):
            pictures = [picture for picture in self.pictures if picture.section == name]
            tables = [table for table in (*self.tables, self.failed) if table.section == name and table.rows]
            found += [(name, folded, pictures, tables)] * bool(pictures or tables)
        return found

    def markdown(self, folder: Path, made_by: str = "") -> str:
        """The page as Markdown to lie in `folder`; `made_by` is its first sentence."""
        parts, notice = [f"# {self.title}\n"], self._notice()
        parts += [f"{text}\n" for text in (made_by, notice and f"> {notice}", self.paragraph) if text]
        parts += [*(f"* {text}" for text in self.findings), ""]
        for name, _, pictures, tables in self._parts():
            shown = [f"![{p.caption}]({p.path.relative_to(folder).as_posix()})\n\n{p.caption}\n" for p in pictures]
            parts += [f"\n## {name}\n", *shown, *map(to_markdown, tables)]
        return "\n".join([*parts, "\n## The run\n", *(f"* {key}: {value}" for key, value in self.facts.items()), ""])

    def html(self) -> str:
        """The page as HTML that needs nothing else."""
        body, links, notice = [], [], self._notice()
        for name, folded, pictures, tables in self._parts():
            anchor = name.lower().replace(",", "").replace(" ", "-")
            links.append(f'<a href="#{anchor}">{escape(name)}</a>')
            content = "\n".join([*(picture.html() for picture in pictures), *map(to_html, tables)])
            if folded:
                count = f"show {len(tables)} table{'s' * (len(tables) != 1)}"
                content = f"<details><summary>{count}</summary>\n{content}\n</details>"
            body.append(f'<section><h2 id="{anchor}">{escape(name)}</h2>\n{content}\n</section>')
        return Template(_asset("html")).substitute(
            title=escape(self.title),
            hint=escape(self.hint),
            banner=f'<p class="banner" role="note">{escape(notice)}</p>' if notice else "",
            lead=f'<p class="lead">{escape(self.paragraph)}</p>' if self.paragraph else "",
            items="".join(f"<li>{escape(text)}</li>" for text in self.findings),
            about="".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in self.facts.items()),
            links=" ".join(links),
            body="".join(body),
            style=_asset("css"),
            script=_asset("js"),
        )


def _save(path: Path, kinds: Sequence[str], make: Callable[..., Any], *arguments: object) -> bool:
    """Save the figure that `make` returns as .png and as other kinds; False if there is none."""
    from matplotlib import pyplot as plt

    plt.switch_backend("Agg")  # pictures in files need no screen
    figure = make(*arguments)
    if figure is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    for kind in (path.suffix[1:], *kinds):
        metadata = {"Date": None} if kind == "svg" else None  # the same results give the same files
        figure.savefig(path.with_suffix(f".{kind}"), dpi=110, bbox_inches="tight", metadata=metadata)
    plt.close(figure)
    return True


def _asset(kind: str) -> str:
    return files("hypermargin_studies.engine").joinpath(f"report.{kind}").read_text(encoding="utf-8")


def marked(text: str, name: str) -> str:
    """The part of this name with its marks; empty if there is none."""
    found = re.search(rf"<!-- {re.escape(name)}: begin -->.*?<!-- {re.escape(name)}: end -->", text, flags=re.DOTALL)
    return found[0] if found else ""


def with_marked(text: str, name: str, content: str) -> str:
    """The text with this content for the part; a new part comes behind the first heading."""
    part, before = f"<!-- {name}: begin -->\n{content.strip()}\n<!-- {name}: end -->", marked(text, name)
    return text.replace(before, part, 1) if before else text.replace("\n", f"\n\n{part}\n", 1)
