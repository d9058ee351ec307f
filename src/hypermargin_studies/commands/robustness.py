"""`hypermargin robustness`: does training with uncertainty sets help, and against what?"""

import argparse
import json

from hypermargin.cli.console import CommandError, make_folder, say, show_table, warn
from hypermargin_studies import commands as shared

EXAMPLES = shared.HELP["robustness"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    shared.add_study_arguments(parser, "robustness", 1, 1e6, " (default: none)", has_page=False)
    parser.add_argument("--datasets", metavar="A,B,...", help="the data sets (default: all)")
    parser.add_argument("--methods", metavar="A;B;...", help="the methods, separated by semicolons (default: all)")
    parser.add_argument("--sizes", default="0.1,0.3,1", metavar="S,...", help="sizes of noise and sets (%(default)s)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="draws of every data set (%(default)s)")


def run(args: argparse.Namespace) -> None:
    from hypermargin_studies.engine.cells import FINISHED, Cache, describe_environment
    from hypermargin_studies.robustness import ASPECTS, DATASETS, METHODS, REFERENCE, Cell, by_dataset, make_report

    datasets = shared.chosen(args.datasets, DATASETS, "data set", "the list names no data set")
    methods = shared.chosen(args.methods, METHODS, "method", "the list names no method", ";")
    sizes = tuple(sorted(set(shared.numbers_in(args.sizes, "--sizes", "separated by commas"))))
    if not all(0.0 < size <= 10.0 for size in sizes):
        raise CommandError("--sizes must be positive and at most 10")
    shared.check_limits(args.time_limit, seeds=args.seeds, jobs=args.jobs)
    if REFERENCE not in methods:
        raise CommandError(f"--methods must name {REFERENCE!r}, which the others are compared with")
    folder = make_folder(args.output)
    cells = [Cell(dataset, seed, sizes, methods) for dataset in datasets for seed in range(args.seeds)]

    records = dict(shared.run_or_report(args, cells, Cache(folder / "cells"), args.time_limit))
    failed = [cell.in_words() for cell in cells if records[cell]["state"] != FINISHED]
    if len(failed) == len(cells):
        raise CommandError(f"nothing was measured: {records[cells[0]]['reason']}")
    if failed:
        warn(f"without a result: {'; '.join(failed)}")
    measurements = [row for cell in cells for row in records[cell].get(Cell.RESULT, ())]
    raw = folder / "robustness.json"
    raw.write_text(json.dumps(measurements, indent=0), encoding="utf-8")
    report = make_report(measurements, folder, describe_environment())
    page = report.write(folder, "robustness")
    shared.warn_of(report)
    table = by_dataset(measurements)
    for size in sizes:
        rows = [(name, *(f"{table[name, size][aspect].mean():.1f} %" for aspect in ASPECTS)) for name in methods]
        show_table(f"size {size:g}", ("method", *ASPECTS.values()), rows)
    say(f"written: {', '.join(str(page.with_suffix(kind)) for kind in ('.md', '.html', '.png'))}, {raw}")
