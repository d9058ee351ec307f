"""`hypermargin robustness`: does training with uncertainty sets help, and against what?"""

import argparse
import json
from pathlib import Path

from hypermargin.cli.console import CommandError, percent, say, show_table, with_progress

EXAMPLES = """examples:
  hypermargin robustness --output robust
      all data sets, three draws of each; the table, the figure and every measurement are written to robust/
  hypermargin robustness --datasets gaussian_1,karate --seeds 1 --sizes 0.3 --output try
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", default="robustness", metavar="FOLDER", help="where results go (%(default)s)")
    parser.add_argument("--datasets", metavar="A,B,...", help="the data sets (default: all)")
    parser.add_argument("--methods", metavar="A;B;...", help="the methods, separated by semicolons (default: all)")
    parser.add_argument("--sizes", default="0.1,0.3,1", metavar="S,...", help="sizes of noise and sets (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="draws of every data set (%(default)s)")


def run(args: argparse.Namespace) -> None:
    from hypermargin_studies.robustness.measurements import DATASETS, METHODS, measure
    from hypermargin_studies.robustness.report import ASPECTS, REFERENCE, by_dataset, write

    datasets = _chosen(args.datasets, ",", DATASETS, "data set")
    methods = _chosen(args.methods, ";", tuple(METHODS), "method")
    sizes = _sizes(args.sizes)
    if args.seeds < 1:
        raise CommandError(f"--seeds must be at least 1, got {args.seeds}")
    if REFERENCE not in methods:
        raise CommandError(f"--methods must name {REFERENCE!r}, which the others are compared with")
    measurements = []
    for dataset in with_progress(datasets, "measuring"):
        for seed in range(args.seeds):
            measurements += list(measure(dataset, seed, sizes, methods))
    folder = Path(args.output)
    files = write(measurements, folder)
    raw = folder / "robustness.json"
    raw.write_text(json.dumps([m.to_dict() for m in measurements], indent=0), encoding="utf-8")
    table = by_dataset(measurements)
    for size in sizes:
        show_table(
            f"size {size:g}",
            ("method", *ASPECTS.values()),
            [(name, *(percent(table[name, size][aspect].mean()) for aspect in ASPECTS)) for name in methods],
        )
    say(f"written: {', '.join(str(path) for path in (*files, raw))}")


def _chosen(text: str | None, separator: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The names in a list, or all there are; an unknown one is an error that lists them."""
    if text is None:
        return known
    names = tuple(name.strip() for name in text.split(separator) if name.strip())
    for name in names:
        if name not in known:
            raise CommandError(f"unknown {what} {name!r}; there are: {f'{separator} '.join(known)}")
    if not names:
        raise CommandError(f"the list names no {what}")
    return names


def _sizes(text: str) -> tuple[float, ...]:
    try:
        sizes = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        raise CommandError(f"--sizes must be numbers separated by commas, got {text!r}") from None
    if not all(0.0 < size <= 10.0 for size in sizes):
        raise CommandError("--sizes must be positive and at most 10")
    return sizes
