"""The process that runs cells and other people's solvers: one task a line on standard input, one answer a line back.

Started by `limits.LimitedWorker` as ``python -m hypermargin.experiments.worker``; it ends with its input.
"""

import contextlib
import json
import os
import sys
import threading
import time
from typing import Any, TextIO

from hypermargin.experiments.cells import Cell, run_cell
from hypermargin.experiments.scoring import load_solver, run_solver


def perform(task: dict[str, Any]) -> Any:
    """Run one task."""
    if task["kind"] == "cell":
        return run_cell(Cell.from_dict(task["cell"]), task["device"])
    if task["kind"] == "score":
        return run_solver(task["solver"], task["problem"])
    if task["kind"] == "load":
        return bool(load_solver(task["solver"]))
    raise ValueError(f"unknown kind of task {task['kind']!r}")


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """The value of a task, or what went wrong, as plain values."""
    try:
        return {"value": perform(task)}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"error": " ".join(f"{type(error).__name__}: {error}".split())[:500]}


def serve(requests: TextIO, replies: TextIO) -> None:
    """Say that all is ready, then answer until the input ends."""
    replies.write("ready\n")
    replies.flush()
    for line in requests:
        replies.write(json.dumps(answer(json.loads(line))) + "\n")
        replies.flush()


def end_with(parent: int) -> None:
    """Do not outlive the process that asked: it may have been killed in the middle of a task."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main() -> None:
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    # What a solver prints must not be taken for an answer.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        serve(sys.stdin, replies)


if __name__ == "__main__":
    main()
