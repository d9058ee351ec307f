"""Progress of long work on standard error: a bar where somebody can see it move, a line now and then elsewhere."""

import time
from collections.abc import Iterable, Iterator, Sequence
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Item = TypeVar("Item")

#: Seconds between lines in a log.
INTERVAL = 15.0


class Progress:
    """A context in which work tells how far it is.

    Parameters
    ----------
    description : str
    total : int or None
        Steps there are; None where nobody knows, and only the time is told.
    closing : bool
        Where there is no terminal: whether to say at the end how long it took, even if that was short.
    interval : float, optional
        Seconds between lines where there is no terminal; `INTERVAL` by default.
    """

    def __init__(
        self, description: str, total: int | None, *, closing: bool = False, interval: float | None = None
    ) -> None:
        self.description, self.total, self.closing = description, total, closing
        self.interval = INTERVAL if interval is None else interval
        from rich.console import Console  # takes a while to load, and is not needed by `--help`

        self.console = Console(stderr=True)
        self.done, self.doing, self.told = 0, "", False
        self._end = Event()
        self._bar: Bar | None = None
        self._teller = Thread(target=self._tell, daemon=True)

    def at(self, done: int, doing: str = "") -> None:
        """So many steps are done, and this is at work."""
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
            self._teller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            return
        self._end.set()
        self._teller.join()
        if kind is None and (self.closing or self.told):
            self.doing = ""
            self._line()

    def _text(self) -> str:
        return f"{self.description}: {self.doing}" if self.doing else self.description

    def _tell(self) -> None:
        while not self._end.wait(self.interval):
            self.told = True
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
    """Iterate over `total` items and tell how many are done."""
    with Progress(description, total, closing=closing) as progress:
        for done, item in enumerate(items, start=1):
            yield item
            progress.at(done)


def named(items: Sequence[Item], description: str) -> Iterator[Item]:
    """Iterate over items and tell which one is at work."""
    with Progress(description, len(items)) as progress:
        for done, item in enumerate(items):
            progress.at(done, str(item))
            yield item
        progress.at(len(items))
