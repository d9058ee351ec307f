"""Look for a false word among small problems of every kind, judged in high precision.

    python benchmarks/fuzz.py --problems 1000000 --jobs 2
    python benchmarks/fuzz.py --mutants 100000 --jobs 2

What is found is made smaller and written as a script each; the exit code is then 1. docs/fuzzing.md explains. Mutants
are certificates with a field or two changed, which the fast check and the reference checker judge side by side.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from certificates.mutants import KINDS, compare
from fuzz.cases import BATCH
from fuzz.shrink import shrunk, write_reproducer
from fuzz.verdict import PROVED, judge_batch, judge_case

#: Mutants of one certificate: making the certificate then takes less than judging its mutants.
MUTANTS = 50


def judged(judge: Callable[[Any], Any], names: list[Any], jobs: int) -> Iterator[Any]:
    """Reports in the order in which they finish."""
    if jobs == 1:
        yield from map(judge, names)
        return
    for library in ("OMP", "OPENBLAS", "RAYON"):  # a process per core is enough
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(judge, names)


def judge_mutants(name: tuple[str, int]) -> tuple[str, Counter, list[str]]:
    """The endings of the mutants of one certificate, and what is wrong, in sentences."""
    return name[0], *compare(*name, MUTANTS)


def mutate(options: argparse.Namespace, console: Console) -> int:
    """Mutants of all kinds: the exit code is 1 if one was judged wrongly."""
    rounds = -(-options.mutants // (MUTANTS * len(KINDS)))
    names = [(kind, options.seed * 1000 + options.first + index) for index in range(rounds) for kind in KINDS]
    endings: dict[str, Counter] = {kind: Counter() for kind in KINDS}
    found = 0
    try:
        for kind, counts, wrong in judged(judge_mutants, names, options.jobs):
            endings[kind].update(counts)
            found += len(wrong)
            for sentence in wrong:
                console.print(f"[bold red]wrong[/]: {sentence}", soft_wrap=True)
            if found >= options.most:
                break
    except KeyboardInterrupt:  # what was judged until then counts
        console.print("interrupted")
    for kind, counts in endings.items():
        console.print(f"{kind:22}" + ", ".join(f"{count:,} {ending}" for ending, count in counts.most_common()))
    console.print(f"{sum(counts.total() for counts in endings.values()):,} mutants, {found} judged wrongly.")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Look for a false word among small problems of every kind.")
    parser.add_argument("--problems", type=int, default=1_000_000, help="how many (default: a million)")
    parser.add_argument("--seed", type=int, default=1, help="the test suite uses 0 (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="the batch to begin with, to go on where a run ended")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--output", type=Path, default=Path("fuzz-found"), help="folder for what is found")
    parser.add_argument("--most", type=int, default=20, help="stop after so many false words (default: 20)")
    parser.add_argument("--mutants", type=int, default=0, help="judge so many mutants of certificates, and no problems")
    options = parser.parse_args()
    console, endings, found = Console(), Counter(), 0
    if options.mutants:
        return mutate(options, console)
    batches, started = -(-options.problems // BATCH), time.perf_counter()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("problems", total=batches * BATCH)
        try:
            names = [(options.seed, options.first + index) for index in range(batches)]
            for report in judged(judge_batch, names, options.jobs):
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
