"""Look for a false word among small problems of every kind, judged in high precision.

    python benchmarks/fuzz.py --problems 1000000 --jobs 2
    python benchmarks/fuzz.py --mutants 100000 --jobs 2
    python benchmarks/fuzz.py --coverage 2000

What is found is made smaller and written as a script each; the exit code is then 1. docs/fuzzing.md explains. Mutants
are certificates with a field or two changed, which the fast check and the reference checker judge side by side. With
`--coverage` the sources are interpreted and their branches counted: every second case is drawn near one that reached a
branch for the first time, and a table says which branches of solver and checker no case has reached.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from certificates.mutants import KINDS, compare  # noqa: E402 (the folder of the tests is not a package)
from fuzz.cases import BATCH, Case, draw_batch, near, varied  # noqa: E402
from fuzz.shrink import shrunk, write_reproducer  # noqa: E402
from fuzz.verdict import PROVED, judge_batch, judge_case  # noqa: E402

#: Mutants of one certificate: making the certificate then takes less than judging its mutants.
MUTANTS = 50
#: The parts of the package whose branches are counted.
COVERED = ("certificates", "solvers/exact")


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


def cover(options: argparse.Namespace) -> int:
    """Run `draw_covered` where no module is compiled: in a copy of the sources."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.so", "*.pyd", "*.c"))
        command = [sys.executable, __file__, "--covered", str(options.coverage)]
        command += ["--seed", str(options.seed), "--output", str(options.output)]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": folder}).returncode


def draw_covered(options: argparse.Namespace, console: Console) -> int:
    """Draw cases, half of them near those that reached new branches; the exit code is 1 if there is a false word."""
    from coverage import Coverage

    import hypermargin

    home = Path(hypermargin.__file__).parent
    coverage = Coverage(branch=True, source=[str(home / part) for part in COVERED], data_file=None, messages=False)
    rng, rare, reached, wrong, number = np.random.default_rng(options.seed), list[Case](), 0, 0, 0
    fresh = (case for batch in count() for case in draw_batch(options.seed, batch))
    with Progress(
        TextColumn("cases"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    ) as bar:
        for number in bar.track(range(options.covered)):
            other = number % 2 and rare
            case = near(rare[rng.integers(len(rare))], f"near-{number}", rng) if other else varied(next(fresh))
            coverage.start()
            complaint = judge_case(case)
            coverage.stop()
            data = coverage.get_data()
            arcs = sum(len(data.arcs(file) or ()) for file in data.measured_files())
            if arcs > reached:
                rare.append(case)
                reached = arcs
            if complaint is not None:
                wrong += 1
                path = write_reproducer(options.output, case, complaint)
                console.print(f"[bold red]{complaint.kind}[/]: {complaint.sentence} ({path})", soft_wrap=True)
    options.output.mkdir(parents=True, exist_ok=True)
    report = options.output / "coverage.json"
    coverage.json_report(outfile=str(report))
    table = Table("module", "branches", "reached", "lines with branches that no case took")
    for name, found in json.loads(report.read_text())["files"].items():
        total, covered = found["summary"]["num_branches"], found["summary"]["covered_branches"]
        if total:
            lines = sorted({line for line, _ in found["missing_branches"]})
            table.add_row(
                str(Path(name).relative_to(home)), str(total), f"{covered / total:.0%}", ", ".join(map(str, lines))
            )
    console.print(table)
    console.print(f"{number + 1:,} cases, {len(rare)} that reached new branches; {wrong} false words. All in {report}.")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Look for a false word among small problems of every kind.")
    parser.add_argument("--problems", type=int, default=1_000_000, help="how many (default: a million)")
    parser.add_argument("--seed", type=int, default=1, help="the test suite uses 0 (default: 1)")
    parser.add_argument("--first", type=int, default=0, help="the batch to begin with, to go on where a run ended")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--output", type=Path, default=Path("fuzz-found"), help="folder for what is found")
    parser.add_argument("--most", type=int, default=20, help="stop after so many false words (default: 20)")
    parser.add_argument("--mutants", type=int, default=0, help="judge so many mutants of certificates, and no problems")
    parser.add_argument("--coverage", type=int, default=0, help="judge so many cases and count branches of the code")
    parser.add_argument("--covered", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    console, endings, found = Console(), Counter(), 0
    if options.mutants:
        return mutate(options, console)
    if options.coverage:
        return cover(options)
    if options.covered:
        return draw_covered(options, console)
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
