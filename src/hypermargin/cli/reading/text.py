"""Tables as text: .csv, .tsv and their like, with or without a header, compressed or not; and gensim's word vectors."""

import csv
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from hypermargin.cli.console import CommandError
from hypermargin.cli.reading.table import Table, is_number

#: What may stand between cells, the first of those that fit equally well.
DELIMITERS = (",", "\t", ";", "|", " ")
#: Lines that are looked at to find the delimiter.
LOOKED_AT = 50

Rows = list[tuple[int, list[str]]]


def read_text(path: str, delimiter: str | None = None) -> Table:
    """A table from text; the delimiter is found unless it is given."""
    lines = read_lines(path)
    if not any(line.strip() for line in lines):
        raise CommandError(f"{path} is empty")
    if delimiter is None:
        delimiter = "\t" if Path(path.removesuffix(".gz")).suffix == ".tsv" else _found_delimiter(lines)
    rows = _cells(lines, delimiter)
    if delimiter == " " and len(rows) > 1 and _heads_word_vectors(rows):
        rows = rows[1:]
        return _table(path, ["word", *(f"x{k}" for k in range(1, len(rows[0][1])))], rows)
    width = max(len(rows[0][1]), len(rows[1][1]) if len(rows) > 1 else 0)
    header = None if any(is_number(cell) for cell in rows[0][1]) else [cell.strip() for cell in rows[0][1]]
    if header is not None:
        rows = rows[1:]
        if len(header) == width - 1:  # R's write.table: the names of rows have no name
            header = ["", *header]
    if not rows:
        raise CommandError(f"{path} has a header and no rows")
    return _table(path, header, rows)


def read_lines(path: str) -> list[str]:
    """The lines of a text file, which may be compressed by gzip."""
    try:
        content = Path(path).read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig").splitlines()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CommandError(f"{path} is a damaged archive") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not a text file in UTF-8") from error


def _cells(lines: Sequence[str], delimiter: str) -> Rows:
    """Rows that are not blank, with the line that each ends on."""
    if delimiter == " ":
        return [(number, line.split()) for number, line in enumerate(lines, start=1) if line.strip()]
    reader = csv.reader(lines, delimiter=delimiter)
    return [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]


def _table(path: str, header: list[str] | None, rows: Rows) -> Table:
    width = len(rows[0][1]) if header is None else len(header)
    for line, row in rows:
        if len(row) != width:
            raise CommandError(f"{path}: line {line} has {len(row)} columns, the first line has {width}")
    numbers = [line for line, _ in rows]
    columns = [list(column) for column in zip(*(row for _, row in rows), strict=True)]
    return Table(path, header, columns, lambda row: f"line {numbers[row]}")


def _found_delimiter(lines: Sequence[str]) -> str:
    """The delimiter that cuts the first lines into the most columns, as many in each."""
    first = [line for line in lines if line.strip()][:LOOKED_AT]

    def quality(delimiter: str) -> tuple[bool, int]:
        widths = [len(row) for _, row in _cells(first, delimiter)]
        even = len(set(widths[1:] or widths)) == 1  # the header may lack a name
        return even and widths[-1] > 1, widths[-1] if even else 0

    best = max(DELIMITERS, key=quality)
    return best if quality(best)[0] else max(DELIMITERS[:-1], key=lambda delimiter: first[0].count(delimiter))


def _heads_word_vectors(rows: Rows) -> bool:
    """Whether the first line is that of the word2vec format: the number of vectors and their width."""
    head = rows[0][1]
    if len(head) != 2 or not all(cell.isdigit() for cell in head):
        return False
    return (len(rows) - 1, len(rows[1][1]) - 1) == (int(head[0]), int(head[1]))
