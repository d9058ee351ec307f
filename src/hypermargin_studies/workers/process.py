"""The process that performs tasks: one per line on standard input, one answer per line back.

A task names a function of one module and its arguments, as plain values. Started by `limits.LimitedWorker` as
``python -m hypermargin_studies.workers.process MODULE``; it ends with its input.
"""

import contextlib
import importlib
import json
import os
import sys
import threading
import time
from types import ModuleType
from typing import Any, TextIO


def answer(module: ModuleType, task: dict[str, Any]) -> dict[str, Any]:
    """The value of a task, or what went wrong, as plain values."""
    try:
        return {"value": getattr(module, task["function"])(**task["arguments"])}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return {"error": " ".join(f"{type(error).__name__}: {error}".split())[:500]}


def serve(module: ModuleType, requests: TextIO, replies: TextIO) -> None:
    """Say that all is ready, then answer until the input ends."""
    replies.write("ready\n")
    replies.flush()
    for line in requests:
        replies.write(json.dumps(answer(module, json.loads(line))) + "\n")
        replies.flush()


def end_with(parent: int) -> None:
    """Do not outlive the process that asked: it may have been killed in the middle of a task."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main() -> None:
    module = importlib.import_module(sys.argv[1])
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    # What a solver prints must not be taken for an answer.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        serve(module, sys.stdin, replies)


if __name__ == "__main__":
    main()
