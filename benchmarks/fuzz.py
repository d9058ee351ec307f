"""Look for a false word among small problems of every kind, judged in high precision.

    python benchmarks/fuzz.py --problems 1000000 --jobs 2

What is found is made smaller and written as a script each; the exit code is then 1. docs/fuzzing.md explains.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from fuzz.cases import BATCH
from fuzz.shrink import shrunk, write_reproducer
from fuzz.verdict import PROVED, Report, judge_batch, judge_case


def judged(seed: int, first: int, batches: int, jobs: int) -> Iterator[Report]:
    """Reports of batches in the order in which they finish."""
    names = [(seed, first + index) for index in range(batches)]
    if jobs == 1:
        yield from map(judge_batch, names)
        return
    for library in ("OMP", "OPENBLAS", "RAYON"):  # a process per core is enough
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(judge_batch, names)


def main() -> int:
    parser = argparse.ArgumentParser(description="Look for a false word among small problems of every kind.")
    parser.add_argument("--problems", type=int, default=1_000_000, help="how many (default: a million)")
    parser.add_argument("--seed", type=int, default=1, help="the test suite uses 0 (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="the batch to begin with, to go on where a run ended")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--output", type=Path, default=Path("fuzz-found"), help="folder for what is found")
    parser.add_argument("--most", type=int, default=20, help="stop after so many false words (default: 20)")
    options = parser.parse_args()
    console, endings, found = Console(), Counter(), 0
    batches, started = -(-options.problems // BATCH), time.perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("problems", total=batches * BATCH)
        try:
            for report in judged(options.seed, options.first, batches, options.jobs):
                progress.advance(task, BATCH)
                endings.update(report.endings)
                for case, wrong in report.found:
                    found += 1
                    smaller, what = shrunk(case, wrong, judge_case)
                    path = write_reproducer(options.output, smaller, what)
                    console.print(f"[bold red]{what.kind}[/]: {what.sentence} ({path})", soft_wrap=True)
                if found >= options.most:
                    break
        except KeyboardInterrupt:  # what was judged until then counts
            console.print("interrupted")
    seconds = time.perf_counter() - started
    console.print(table(endings))
    done = sum(endings.values())
    console.print(f"{done:,} solves in {seconds:,.0f} s, {done / seconds:,.0f} per second; {found} false words.")
    return 1 if found else 0


def table(endings: Counter) -> Table:
    """How many solves of each method ended how."""
    methods = sorted({method for method, _ in endings})
    names = sorted({name for _, name in endings}, key=lambda name: (name not in PROVED, name))
    shown = Table(title="How solves ended")
    shown.add_column("method")
    for name in names:
        shown.add_column(name.lower().replace("_", " "), justify="right")
    for method in methods:
        shown.add_row(method, *(f"{endings[method, name]:,}" for name in names))
    return shown


if __name__ == "__main__":
    sys.exit(main())
