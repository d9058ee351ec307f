"""`hypermargin inspect`: what coordinates a file holds, and what is worth knowing of them before a fit."""

import argparse
import shlex
from dataclasses import replace

from hypermargin.cli.console import check_output, say
from hypermargin.cli.options import add_shared_arguments
from hypermargin.cli.reading import Wanted, read_points
from hypermargin.data.inspecting import inspect

EXAMPLES = """examples:
  hypermargin inspect points.csv
      which geometry and curvature fit and how sure that is, radii, points at the rim, duplicates, labels, and the
      command to use next
  hypermargin inspect cells.tsv --columns x,y --label cell_type --output report.html
      the same as a page; a name that ends in .json is written as JSON
  hypermargin inspect points.csv --json
      JSON on standard output
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared_arguments(parser, "data")
    parser.add_argument("--output", "-o", metavar="FILE", help="write the report to a file (.html, .json or .txt)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> None:
    output = None if args.output is None else check_output(args.output, (".html", ".json", ".txt"), inputs=(args.data,))
    points = read_points(args.data, replace(Wanted.of(args), any_numbers=True))
    found = inspect(points.X, points.partial_labels, name=args.data)
    given = ""
    for option in ("label", "columns", "id", "labels", "delimiter", "obsm"):
        value = getattr(args, option)
        if value:
            given += f" --{option} {shlex.quote(value if isinstance(value, str) else ','.join(value))}"
    found = replace(found, command=found.command.replace(" --model", f"{given} --model", 1))
    say(found.to_json() if args.json else str(found))
    if output is not None:
        say(f"wrote {found.save(output)}")
