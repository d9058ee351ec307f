"""Search for a false certificate: tiny random instances against brute force, until one is found.

    python benchmarks/fuzz.py --instances 1000000 --seed 1

The first counterexample is printed with the call that makes it again, and the exit code is 1.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from reference.fuzzing import check_batch
from reference.tiny import BATCH


def check_all(instances: int, seed: int, jobs: int) -> Iterator[str | None]:
    """For each batch a complaint or None, in the order in which they finish."""
    names = [(seed, index) for index in range(-(-instances // BATCH))]
    if jobs == 1:
        yield from map(check_batch, names)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(check_batch, names)


def main() -> int:
    parser = argparse.ArgumentParser(description="Search for a false certificate among tiny random instances.")
    parser.add_argument("--instances", type=int, default=1_000_000, help="how many (default: a million)")
    parser.add_argument("--seed", type=int, default=1, help="the test suite uses 0 (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    options = parser.parse_args()
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("instances", total=-(-options.instances // BATCH) * BATCH)
        for wrong in check_all(options.instances, options.seed, options.jobs):
            if wrong is not None:
                progress.stop()
                console.print("[bold red]Counterexample[/] (reference.tiny, in tests):", wrong, soft_wrap=True)
                return 1
            progress.advance(task, BATCH)
    console.print("No counterexample.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
