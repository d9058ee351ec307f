"""Tasks in a process of their own, which is ended when its time is over.

A task is one line of JSON that names a function of one module and its arguments; the answer is one line back. The
process is this module: ``python -m hypermargin_studies.engine.worker MODULE``. It ends with its input.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from types import ModuleType
from typing import Any, NamedTuple

COMMAND = (sys.executable, "-m", "hypermargin_studies.engine.worker")
#: One thread per worker: `--jobs` says how many cores are used, and times can be compared.
SINGLE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "RAYON")}
#: Seconds that no task takes: eleven days.
FOREVER = 1e6


class Answer(NamedTuple):
    """The outcome of a task: its value, or why there is none."""

    value: Any = None
    timed_out: bool = False
    error: str | None = None


class LimitedWorker:
    """A process that performs tasks one after the other, replaced by a fresh one after it had to be stopped."""

    def __init__(self, module: str) -> None:
        """`module` has the functions that can be called; it is imported before the clock of a task starts."""
        self._command = (*COMMAND, module)
        self._process: Any = None
        self._errors: Any = None
        self._busy = threading.Lock()
        self._ended = False

    def call(self, function: str, arguments: dict[str, Any], limit: float = FOREVER) -> Answer:
        """Call a function of the module with these arguments, which must be plain values, within `limit` seconds."""
        task = {"function": function, "arguments": arguments}
        with self._busy:
            return Answer(error="the run was ended") if self._ended else self._perform(task, limit)

    def close(self) -> None:
        """End the process, even in the middle of another thread's task, and start no new one."""
        self._ended = True
        if (process := self._process) is not None:
            process.kill()
        with self._busy:
            self._discard()

    def _perform(self, task: dict[str, Any], limit: float) -> Answer:
        process: Any = self._running()
        expired, line = threading.Event(), ""

        def stop() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(limit, stop)
        timer.start()
        try:
            with contextlib.suppress(OSError):
                print(json.dumps(task), file=process.stdin, flush=True)
                line = process.stdout.readline()
        finally:
            timer.cancel()
        if line.endswith("\n"):
            return Answer(**json.loads(line))
        code = process.wait()
        message = None if expired.is_set() else f"the process ended with exit code {code}{self._last_words()}"
        self._discard()
        return Answer(timed_out=expired.is_set(), error=message)

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None or self._process.poll() is not None:
            self._discard()
            self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed in `close`
            how: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors}
            environment = {**os.environ, **SINGLE_THREAD}
            self._process = subprocess.Popen(self._command, **how, text=True, encoding="utf-8", env=environment)
            # Time limits are for tasks: they begin when the worker has imported what it needs.
            self._process.stdout.readline()
            if self._ended:  # meanwhile, and `close` may have seen no process yet
                self._process.kill()
        return self._process

    def _discard(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _last_words(self) -> str:
        """The last line on standard error, which names what ended the process."""
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        return f" ({lines[-1][:300]})" if lines else ""


def perform(module: ModuleType, task: dict[str, Any]) -> dict[str, Any]:
    """The value of a task, or what went wrong, as plain values."""
    try:
        return {"value": getattr(module, task["function"])(**task["arguments"])}
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return {"error": " ".join(f"{type(error).__name__}: {error}".split())[:500]}


def end_with(parent: int) -> None:
    """Do not outlive the parent process: it may have been killed in the middle of a task."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main() -> None:
    """Print a line when all is imported, then an answer for each line of the input."""
    module = importlib.import_module(sys.argv[1])
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    # What a solver prints must not be taken for an answer.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        print("ready", file=replies, flush=True)
        for line in sys.stdin:
            print(json.dumps(perform(module, json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
