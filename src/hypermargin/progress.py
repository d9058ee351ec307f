"""Progress of long work on standard error: a bar on a terminal, a line now and then in a log."""

import time
from collections.abc import Iterable, Iterator, Sequence
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Item = TypeVar("Item")

#: Seconds between lines in a log: four a minute show that the work goes on and do not fill the log.
INTERVAL = 15.0


class Progress:
    """A context that shows how far some work is.

    Parameters
    ----------
    description : str
    total : int or None
        Number of steps; None if it is unknown, and only the time is shown.
    closing : bool
        Without a terminal: whether to print at the end how long it took, even if that was short.
    interval : float, optional
        Seconds between lines without a terminal; `INTERVAL` by default.
    """

    def __init__(
        self, description: str, total: int | None, *, closing: bool = False, interval: float | None = None
    ) -> None:
        self.description, self.total, self.closing = description, total, closing
        self.interval = INTERVAL if interval is None else interval
        from rich.console import Console  # takes 30 ms to load, which `--help` can do without

        self.console = Console(stderr=True)
        self.done, self.doing, self.has_printed = 0, "", False
        self._end = Event()
        self._bar: Bar | None = None
        self._printer = Thread(target=self._print_lines, daemon=True)

    def at(self, done: int, doing: str = "") -> None:
        """Set the number of steps done, and what is being done."""
        self.done, self.doing = done, doing
        if self._bar is not None:
            self._bar.update(self._task, completed=done, description=self._text())

    def __enter__(self) -> Self:
        self.start = time.perf_counter()
        if self.console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            text, left = TextColumn("{task.description}"), TextColumn("left")
            columns = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), left, TimeRemainingColumn())
            self._bar = Bar(*columns, console=self.console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._text(), total=self.total)
        else:
            self._printer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            return
        self._end.set()
        self._printer.join()
        if kind is None and (self.closing or self.has_printed):
            self.doing = ""
            self._line()

    def _text(self) -> str:
        return f"{self.description}: {self.doing}" if self.doing else self.description

    def _print_lines(self) -> None:
        while not self._end.wait(self.interval):
            self.has_printed = True
            self._line()

    def _line(self) -> None:
        seconds = f"{time.perf_counter() - self.start:.0f} s"
        if self.total is None:
            line = f"{self._text()}, {seconds} so far" if not self._end.is_set() else f"{self._text()} took {seconds}"
        else:
            share = f"{100 * self.done // max(self.total, 1)}%"
            line = f"{self._text()}, {self.done} of {self.total} ({share}) after {seconds}"
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def tracked(items: Iterable[Item], description: str, total: int, *, closing: bool = False) -> Iterator[Item]:
    """Iterate over `total` items and show how many are done."""
    with Progress(description, total, closing=closing) as progress:
        for done, item in enumerate(items, start=1):
            yield item
            progress.at(done)


def named(items: Sequence[Item], description: str) -> Iterator[Item]:
    """Iterate over items and show the current one."""
    with Progress(description, len(items)) as progress:
        for done, item in enumerate(items):
            progress.at(done, str(item))
            yield item
        progress.at(len(items))
