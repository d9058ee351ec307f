"""`hypermargin reproduce`: every table and figure of the paper, the exact optimum and honest baselines beside them."""

import argparse
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hypermargin.cli.console import CommandError, make_folder, say, warn
from hypermargin_studies import commands as shared

if TYPE_CHECKING:
    from hypermargin_studies.engine.cells import Results
    from hypermargin_studies.reproduction.cells import Cell, Plan

EXAMPLES = shared.HELP["reproduce"]
QUICK_LIMIT, FULL_LIMIT = 60.0, 900.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="smaller data, one C, fewer folds where they are long")
    parser.add_argument("--datasets", metavar="A,B,...", help="data sets; grid for the Gaussian grid (default: all)")
    parser.add_argument("--methods", metavar="A,B,...", help="methods (default: all; exact is added as the judge)")
    parser.add_argument("--schemes", metavar="A,B", default="ovr,ovo", help="multi-class schemes (%(default)s)")
    parser.add_argument("-C", "--C", metavar="A,B,...", help="values of C (default: the paper's)")
    meant = f"; cells that exceed it are marked as missing ({QUICK_LIMIT:g} with --quick, else {FULL_LIMIT:g})"
    shared.add_study_arguments(parser, "reproduction", os.cpu_count() or 1, None, meant)
    parser.add_argument("--dask", metavar="ADDRESS", help="run the cells on the Dask cluster with this scheduler")
    device = "run the moment relaxations by PyTorch on this device, such as cuda; the report says which they were"
    parser.add_argument("--device", metavar="NAME", help=device)
    parser.add_argument("--no-grid", action="store_true", help="leave out the Gaussian grid")
    parser.add_argument("--plan", action="store_true", help="print the plan and stop")


def run(args: argparse.Namespace) -> None:
    from hypermargin_studies.engine.cells import Cache, check_device, expected_seconds
    from hypermargin_studies.reproduction.cells import Selection, make_plan

    limit = args.time_limit if args.time_limit is not None else (QUICK_LIMIT if args.quick else FULL_LIMIT)
    shared.check_limits(limit, jobs=args.jobs)
    datasets, methods, schemes = (
        shared.names_in(getattr(args, name), f"--{name} names nothing") for name in ("datasets", "methods", "schemes")
    )
    C = shared.numbers_in(args.C, "--C", "with commas between them")
    selection = Selection(datasets, methods, schemes, C, grid=not args.no_grid, quick=args.quick)
    if args.device is not None and args.dask is None:  # a cluster's workers have their own
        check_device(args.device)
    plan = make_plan(selection)
    if not plan.cells:
        raise CommandError("the plan is empty; choose more data sets or methods, or leave out --quick")
    folder = make_folder(args.output)
    cache = Cache(folder / "cells")

    def announce(done: "Results", missing: Sequence["Cell"]) -> None:
        _show_plan(plan, done, len(missing), expected_seconds(missing, limit, args.device), args.jobs, limit)

    if args.plan:
        announce(*cache.split(plan.cells, limit, fresh=args.fresh, device=args.device))
        return
    results = shared.run_or_report(args, plan.cells, cache, limit, announce, dask=args.dask, device=args.device)
    _report(args, results, folder, limit)


def _report(args: argparse.Namespace, results: "Results", folder: Path, limit: float) -> None:
    from hypermargin_studies.engine.cells import NOT_RUN, describe_environment
    from hypermargin_studies.reproduction.report import make_report, write_report, write_results_page
    from hypermargin_studies.reproduction.summary import Summary

    summary = Summary(results)
    unfinished = any(record["state"] == NOT_RUN for _, record in summary.holes)
    kind = ("quick" if args.quick else "full") + (", unfinished" if unfinished else "")
    # Cells of a cache may have been given other limits than those of this run.
    limits = sorted({f"{record.get('limit', limit):g}" for _, record in results}, key=float)
    allowed = limits[0] if len(limits) == 1 else f"{limits[0]} to {limits[-1]}"
    commits = {str(record.get("commit", "?")) for _, record in results if "folds" in record}
    facts = {
        "run": f"{kind}, {summary.n_cells} cells finished, {len(summary.holes)} missing, at most {allowed} s per cell",
        "cells made at": ", ".join(sorted(commits)),
        **{"report made at" if name == "commit" else name: value for name, value in describe_environment().items()},
    }
    report = make_report(summary, folder, facts, is_quick=args.quick)
    page = write_report(report, folder)
    shared.warn_of(report)
    if args.results_page:
        say(f"wrote {args.results_page} and {write_results_page(report, Path(args.results_page))}")
    for state, count in sorted(Counter(record["state"] for _, record in summary.holes).items()):
        warn(f"{count} cells: {state}; the report lists them")
    say(f"wrote {page}, and the same as report.md, tables/ and figures/")


def _show_plan(plan: "Plan", done: "Results", n_missing: int, seconds: float, jobs: int, limit: float) -> None:
    names = {cell.dataset for cell in plan.cells}
    draws = sum(name.startswith("grid_") for name in names)
    sets = len(names) - draws
    counted = [f"{sets} data sets"] * bool(sets) + [f"{draws} draws of the Gaussian grid"] * bool(draws)
    methods = ", ".join(sorted({cell.method for cell in plan.cells}))
    say(f"plan: {len(plan.cells)} cells: {' and '.join(counted)}; methods {methods}")
    if plan.left_out:
        say(f"      {len(plan.left_out)} cells are left out of --quick because they take long")
    finished = sum("folds" in record for _, record in done)
    given_up = f" and {len(done) - finished} given up" if finished < len(done) else ""
    say(f"      {finished} finished{given_up} before; {n_missing} to run, {limit:g} s each at most")
    units = ((90.0, 1.0, ".0f", "s"), (5400.0, 60.0, ".0f", "min"), (float("inf"), 3600.0, ".1f", "h"))
    size, form, unit = next(unit[1:] for unit in units if seconds / jobs < unit[0])
    say(f"      estimated time: {seconds / jobs / size:{form}} {unit} with {jobs} job{'s' if jobs > 1 else ''}")
