"""Several problems over the same samples in step: all of them ask before any is answered, in one read of the data.

Where reading is what costs (files, memory maps, tasks of a cluster), K classes one after the other read everything K
times as often as one. Here every problem runs in a thread of its own, as a coroutine would: it runs until it asks the
data something and waits. When all are waiting, their questions travel together, and every piece answers them all.
Nothing in a solver knows of this; what a problem is told does not depend on the others but for rounding.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, NamedTuple

from hypermargin.data.executors import DataSource, Question

#: Problems that are in step at a time: each is a thread that waits, and has its cuts.
AT_A_TIME = 128

#: What one problem does with the home that it is given.
Work = Callable[[DataSource], Any]


class Request(NamedTuple):
    """A question to all pieces, after these changes of them."""

    changes: tuple[tuple[Question, tuple[Any, ...]], ...]
    question: Question
    arguments: tuple[Any, ...]


class _Stopped(BaseException):
    """Raised in the threads of problems that are given up; no `except Exception` may swallow it."""


@dataclass(frozen=True, eq=False)
class _View(DataSource):
    """The home as one of the problems sees it; changes are made on the way to every answer."""

    ask_for: Callable[[Request], list[Any]]
    changes: tuple[tuple[Question, tuple[Any, ...]], ...] = ()

    def ask(self, question: Question, *arguments: Any) -> list[Any]:
        return self.ask_for(Request(self.changes, question, arguments))

    def map(self, change: Question, *arguments: Any) -> "_View":
        return _View(self.ask_for, (*self.changes, (change, arguments)))


class _Coroutine:
    """A thread that runs only while `resume` waits for it: until its work asks something, or is done."""

    def __init__(self, work: Work):
        self.request: Request | None = None  # None when it is done,
        self.result: Any = None  # with this result
        self._error: BaseException | None = None
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._turns: queue.SimpleQueue[None] = queue.SimpleQueue()
        context = copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run, work), daemon=True)
        self._thread.start()
        self._wait()

    def resume(self, answers: list[Any]) -> None:
        self._answers.put(answers)
        self._wait()

    def stop(self) -> None:
        """Give up the work where it waits."""
        if self._thread.is_alive():
            self._answers.put(_Stopped())
            self._thread.join()

    def _wait(self) -> None:
        self._turns.get()
        if self._error is not None:
            raise self._error

    def _run(self, work: Work) -> None:
        try:
            self.result = work(_View(self._ask))
        except BaseException as error:  # raised again where it is waited for
            self._error = error
        self.request = None
        self._turns.put(None)

    def _ask(self, request: Request) -> list[Any]:
        self.request = request
        self._turns.put(None)
        answers = self._answers.get()
        if isinstance(answers, _Stopped):
            raise answers
        return answers


def run_batched(home: DataSource, works: Sequence[Work]) -> Iterator[Any]:
    """The results of all works, in their order, each as soon as those before it are there.

    A work that fails ends the others, and its error is raised here.
    """
    running: dict[int, _Coroutine] = {}
    results: dict[int, Any] = {}
    begun = given = 0
    try:
        while given < len(works):
            while begun < len(works) and len(running) < AT_A_TIME:
                running[begun] = _Coroutine(works[begun])
                begun += 1
                results |= _finished(running)
            while given in results:
                yield results.pop(given)
                given += 1
            if running:
                asked = list(running.values())
                answers = home.ask(_answered, [one.request for one in asked])
                for k, one in enumerate(asked):
                    one.resume([of_piece[k] for of_piece in answers])
                results |= _finished(running)
    finally:
        for one in running.values():
            one.stop()


def _finished(running: dict[int, _Coroutine]) -> dict[int, Any]:
    """Take out those that are done; their results by number."""
    done = [k for k, one in running.items() if one.request is None]
    return {k: running.pop(k).result for k in done}


def _answered(piece: Any, requests: list[Request]) -> list[Any]:
    """The answers of a piece to all requests.

    A question with a method ``jointly(pieces, arguments)`` gets all changed pieces that it is put to at once.
    """
    joint: dict[Any, list[int]] = {}
    answers: list[Any] = [None] * len(requests)
    for k, request in enumerate(requests):
        if hasattr(request.question, "jointly"):
            joint.setdefault(request.question, []).append(k)
        else:
            answers[k] = request.question(_changed(piece, request), *request.arguments)
    for question, members in joint.items():
        pieces = [_changed(piece, requests[k]) for k in members]
        together = question.jointly(pieces, [requests[k].arguments for k in members])
        for k, answer in zip(members, together, strict=True):
            answers[k] = answer
    return answers


def _changed(piece: Any, request: Request) -> Any:
    for change, given in request.changes:
        piece = change(piece, *given)
    return piece
