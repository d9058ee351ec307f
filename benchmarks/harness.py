"""What every benchmark shares: timing two things in turn, peak memory of a child process, and a Markdown table.

A machine's seconds mean little elsewhere; ratios measured in one run do. Rivals are therefore timed in turn with what
they are compared to, and the best of the repeats counts for both.
"""

import datetime
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "docs" / "benchmarks"
PACKAGES = ("hypermargin", "numpy", "scipy", "scikit-learn", "pyscipopt", "clarabel")


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured, the two figures, their ratio and the ratio asked for."""

    what: str
    ours: str
    rival: str
    ratio: str
    target: str = ""
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        return self.what, self.ours, self.rival, self.ratio, self.target, self.note


HEADINGS = ("Measured", "hypermargin", "Compared with", "Ratio", "Target", "Note")


def best_of(function: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least wall-clock time of `repeats` calls, and what the last call returned."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


def in_turn(
    ours: Callable[[], Any], rival: Callable[[], Any], repeats: int = 3, rival_repeats: int | None = None
) -> tuple[float, float, Any, Any]:
    """Best times of both, measured in turn so that noise meets both alike, and what the last calls returned.

    `rival_repeats` is for rivals that take minutes: they are called that often only.
    """
    rival_repeats = repeats if rival_repeats is None else rival_repeats
    best = [float("inf"), float("inf")]
    results: list[Any] = [None, None]
    for turn in range(max(repeats, rival_repeats)):
        for side, (function, limit) in enumerate(((ours, repeats), (rival, rival_repeats))):
            if turn < limit:
                seconds, results[side] = best_of(function, 1)
                best[side] = min(best[side], seconds)
    return best[0], best[1], results[0], results[1]


def seconds(value: float) -> str:
    """A time for the table: 12 s, 1.23 s or 4.56 ms."""
    if value >= 10.0:
        return f"{value:.0f} s"
    return f"{value:.2f} s" if value >= 0.1 else f"{1e3 * value:.3g} ms"


def run_child(script: Path, *arguments: str) -> str:
    """Standard output of `script`, run by a fresh interpreter so that its memory is its own."""
    answer = subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, check=False, env=os.environ
    )
    if answer.returncode != 0:
        raise RuntimeError(f"{script.name} {' '.join(arguments)} failed:\n{answer.stderr}")
    return answer.stdout


def memory_status(field: str) -> int:
    """Bytes of a field of Linux's process status: VmRSS is the resident memory now, VmHWM its peak.

    `resource.getrusage` will not do: a child inherits the peak of the process that started it.
    """
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"the process status has no field {field}")


def reset_peak_memory() -> int:
    """Set the peak (VmHWM) back to the resident memory now, and return that in bytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_status("VmRSS")


def environment() -> str:
    """Commit, date, versions and machine, as one Markdown paragraph."""
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (
        f"Commit `{_commit()}`, {today}, Python {platform.python_version()}, {versions}; "
        f"{_processor()}, {os.cpu_count()} cores."
    )


def write_table(path: Path, title: str, rows: Sequence[Row], command: str, remarks: Sequence[str] = ()) -> None:
    """Write the rows as Markdown to `path` and show them on the terminal."""
    lines = [f"# {title}", "", f"Made by `{command}`. {environment()}", ""]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(row.cells()) + " |" for row in rows]
    if remarks:
        lines += ["", *[f"* {remark}" for remark in remarks]]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:  # on a bare machine the Markdown is good enough to read
        print("\n".join(lines))
        return
    console = Console()
    table = Table(title=title)
    for heading in HEADINGS:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row.cells())
    console.print(table)
    for remark in remarks:
        console.print(f"* {remark}")
    console.print(f"Written to {path}")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _commit() -> str:
    """The commit, with `+` where tracked files differ from it."""
    if shutil.which("git") is None:
        return "unknown"
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    dirty = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=False)
    return (head.stdout.strip() or "unknown") + ("+" if dirty.stdout.strip() else "")


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
