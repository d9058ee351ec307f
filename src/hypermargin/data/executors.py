"""Where blocks of samples are, and how a function is mapped over them: sums over samples are sums over blocks.

A block is a `MarginProblem` of NumPy arrays or a `DeviceSamples` of any other library, and a result is a few numbers
per block, whatever the size of the data: risks and cuts, the sums of the checker, fingerprints, sums and maxima.

Several problems over the same blocks can be solved as one batch (`run_batched`). Where reading is what costs (files,
memory maps, tasks of a cluster), K classes one after the other read everything K times as often as one. In a batch
every problem runs in a thread of its own, as a coroutine would, until it maps a function and waits. When all wait,
their functions are mapped together. Results do not depend on the other problems but for rounding.
"""

import pickle
import queue
import shutil
import sys
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

Function = Callable[..., Any]
#: A function and the arguments that follow the block, one after the other: how blocks are changed on the way.
Changes = tuple[tuple[Function, tuple[Any, ...]], ...]
#: Items that one pass of `DataSource.map_reduce` serves: their results are in memory at the same time.
ITEMS_PER_PASS = 8
#: Blocks are kept in memory up to this share of what is free: a fit needs a few copies of the data.
SHARE_OF_MEMORY = 0.2
#: Share of the free room of the temporary folder that blocks may take: other programs write there as well.
SHARE_OF_DISK = 0.5
#: Problems in a batch: each is a thread that waits, and has its cuts.
BATCH_SIZE = 128


class BatchPolicy(Enum):
    """Which problems over the samples of a source should be solved as one batch (`run_batched`)."""

    NEVER = "a map costs no more than the work of its function"
    SAME_POINTS = "a map has its price, but blocks are kept as a problem changed them"
    ALWAYS = "every map reads the samples anew"


class DataSource(ABC):
    """Blocks of samples, in a fixed order."""

    batch_policy: BatchPolicy = BatchPolicy.NEVER

    def map_blocks(self, function: Function, *arguments: Any) -> list[Any]:
        """``function(block, *arguments)`` of every block, in order; the function and its results may be pickled."""
        if type(self).ask is DataSource.ask:
            raise NotImplementedError(f"{type(self).__name__} has no map_blocks")
        return self.ask(function, *arguments)  # of a class that was written for version 0.1

    @abstractmethod
    def map(self, change: Function, *arguments: Any) -> "DataSource":
        """The source of the blocks ``change(block, *arguments)``, made once and kept where blocks are kept at all."""

    def persist(self, to_disk: bool = True) -> "DataSource | None":
        """The same blocks, made once and kept; None where there is no room for them.

        Blocks that are quick to make again are not worth a file: ``to_disk=False``.
        """
        return self

    def map_reduce(
        self, function: Function, reduce: Function, items: Sequence[Any], n_jobs: int | None = None
    ) -> list[Any]:
        """``reduce([function(block, item) of every block], item)`` for every item, in order.

        Here a pass serves several items, and `reduce` runs in `n_jobs` threads; a cluster reduces on its workers.
        """
        from joblib import Parallel, delayed  # takes a while to import, and solvers do without

        done: list[Any] = []
        for start in range(0, len(items), ITEMS_PER_PASS):
            some = list(items[start : start + ITEMS_PER_PASS])
            results = self.map_blocks(_for_each, function, some)
            done += Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(reduce)([of_block[k] for of_block in results], item) for k, item in enumerate(some)
            )
        return done

    # -- names of version 0.1, public as those of `hypermargin.passes.Home` ------------------------------------------

    @property
    def together(self) -> BatchPolicy:
        return self.batch_policy

    def ask(self, question: Function, *arguments: Any) -> list[Any]:
        return self.map_blocks(question, *arguments)

    def kept(self) -> "DataSource":
        return self.persist() or self

    def grouped(
        self, question: Function, finish: Function, items: Sequence[Any], n_jobs: int | None = None
    ) -> list[Any]:
        return self.map_reduce(question, finish, items, n_jobs)


class InMemory(DataSource):
    """Blocks in the memory of this process, or of a device that it works on."""

    def __init__(self, pieces: Sequence[Any]):
        self.blocks = list(pieces)

    def map_blocks(self, function: Function, *arguments: Any) -> list[Any]:
        try:
            return [function(block, *arguments) for block in self.blocks]
        except Exception as error:  # array libraries have errors of their own for a full device
            if "out of memory" not in str(error).lower() or isinstance(error, MemoryError):
                raise
            cause = str(error).splitlines()[0]
            raise MemoryError(
                f"the memory of the device is too small: {cause} Pass the points in chunks instead, as numpy.memmap or "
                "hypermargin.passes.ArrayChunks(X, rows=...), which are read from the memory of the host"
            ) from error

    def map(self, change: Function, *arguments: Any) -> "InMemory":
        return InMemory(self.map_blocks(change, *arguments))


class OutOfCore(DataSource):
    """Blocks that are read again for every map, one in memory at a time.

    `source` gives a fresh iterator over the same blocks each time; changes are made on the way.
    """

    batch_policy = BatchPolicy.ALWAYS

    def __init__(self, source: Iterable[Any], changes: Changes = ()):
        self.source, self.changes = source, changes

    def map_blocks(self, function: Function, *arguments: Any) -> list[Any]:
        return [function(block, *arguments) for block in self._blocks()]

    def map(self, change: Function, *arguments: Any) -> "OutOfCore":
        return OutOfCore(self.source, (*self.changes, (change, arguments)))

    def persist(self, to_disk: bool = True) -> DataSource | None:
        """In memory as far as that goes, else in files of a temporary folder."""
        kept, room = [], SHARE_OF_MEMORY * free_memory()
        blocks = self._blocks()
        for block in blocks:
            kept.append(block)
            room -= sys.getsizeof(block)
            if room < 0.0:
                break
        else:
            return InMemory(kept)
        if not to_disk and getattr(self.source, "slow_bytes", 0) == 0:
            return None
        cache = DiskCache()
        if not all(cache.add(block) for block in chain(kept, blocks)):
            return None
        return OutOfCore(cache)

    def _blocks(self) -> Iterator[Any]:
        for block in self.source:
            yield _changed(block, self.changes)


class DiskCache:
    """Blocks in files of a temporary folder, which goes with this object."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="hypermargin-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._files: list[Path] = []
        self._room = SHARE_OF_DISK * shutil.disk_usage(self._folder).free

    def add(self, block: Any) -> bool:
        """Write a block to a file, unless there is no room for it."""
        self._room -= sys.getsizeof(block)
        if self._room < 0.0:
            return False
        self._files.append(self._folder / str(len(self._files)))
        with self._files[-1].open("wb") as file:
            pickle.dump(block, file, protocol=5)
        return True

    def __iter__(self) -> Iterator[Any]:
        for path in self._files:
            with path.open("rb") as file:
                yield pickle.load(file)  # what this process has written itself


def free_memory() -> float:
    """Bytes of memory that are free, infinite where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            facts = dict(line.split(":", 1) for line in file)
        return 1024.0 * float(facts["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return float("inf")


def _changed(block: Any, changes: Changes) -> Any:
    for change, arguments in changes:
        block = change(block, *arguments)
    return block


def _for_each(block: Any, function: Function, items: list[Any]) -> list[Any]:
    return [function(block, item) for item in items]


# -- several problems over the same blocks -----------------------------------------------------------------------------

#: The work of one problem with the source that it is given.
Work = Callable[[DataSource], Any]


class _Request(NamedTuple):
    """A function to map over all blocks, after these changes of them."""

    changes: Changes
    function: Function
    arguments: tuple[Any, ...]


class _Stopped(BaseException):
    """Raised in the threads of problems that are given up; no `except Exception` may swallow it."""


@dataclass(frozen=True, eq=False)
class _View(DataSource):
    """The source as one of the problems sees it; changes are made on the way to every result."""

    request: Callable[[_Request], list[Any]]
    changes: Changes = ()

    def map_blocks(self, function: Function, *arguments: Any) -> list[Any]:
        return self.request(_Request(self.changes, function, arguments))

    def map(self, change: Function, *arguments: Any) -> "_View":
        return _View(self.request, (*self.changes, (change, arguments)))


class _Coroutine:
    """A thread that runs only while `resume` waits for it: until its work maps a function, or is done."""

    def __init__(self, work: Work):
        self.request: _Request | None = None  # None when it is done,
        self.result: Any = None  # with this result
        self._error: BaseException | None = None
        self._results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._turns: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=copy_context().run, args=(self._run, work), daemon=True)
        self._thread.start()
        self._wait()

    def resume(self, results: list[Any]) -> None:
        self._results.put(results)
        self._wait()

    def stop(self) -> None:
        """Give up the work where it waits."""
        if self._thread.is_alive():
            self._results.put(_Stopped())
            self._thread.join()

    def _wait(self) -> None:
        self._turns.get()
        if self._error is not None:
            raise self._error

    def _run(self, work: Work) -> None:
        try:
            self.result = work(_View(self._results_of))
        except BaseException as error:  # raised again where it is waited for
            self._error = error
        self.request = None
        self._turns.put(None)

    def _results_of(self, request: _Request) -> list[Any]:
        self.request = request
        self._turns.put(None)
        results = self._results.get()
        if isinstance(results, _Stopped):
            raise results
        return results


def run_batched(source: DataSource, works: Sequence[Work]) -> Iterator[Any]:
    """The results of all works, in order, each as soon as those before it are there.

    A work that fails ends the others, and its error is raised here.
    """
    running: dict[int, _Coroutine] = {}
    results: dict[int, Any] = {}
    started = given = 0
    try:
        while given < len(works):
            while started < len(works) and len(running) < BATCH_SIZE:
                running[started] = _Coroutine(works[started])
                started += 1
                _collect(running, results)
            while given in results:
                yield results.pop(given)
                given += 1
            if running:
                waiting = list(running.values())
                found = source.map_blocks(_results_of_all, [one.request for one in waiting])
                for k, one in enumerate(waiting):
                    one.resume([of_block[k] for of_block in found])
                _collect(running, results)
    finally:
        for one in running.values():
            one.stop()


def _collect(running: dict[int, _Coroutine], results: dict[int, Any]) -> None:
    """Move those that are done from `running` to `results`."""
    for k in [k for k, one in running.items() if one.request is None]:
        results[k] = running.pop(k).result


def _results_of_all(block: Any, requests: list[_Request]) -> list[Any]:
    """The results of a block for all requests.

    A function with a method ``jointly(blocks, arguments)`` gets all changed blocks that it is mapped over at once.
    """
    joint: dict[Any, list[int]] = {}
    results: list[Any] = [None] * len(requests)
    for k, (changes, function, arguments) in enumerate(requests):
        if hasattr(function, "jointly"):
            joint.setdefault(function, []).append(k)
        else:
            results[k] = function(_changed(block, changes), *arguments)
    for function, members in joint.items():
        blocks = [_changed(block, requests[k].changes) for k in members]
        for k, result in zip(members, function.jointly(blocks, [requests[k].arguments for k in members]), strict=True):
            results[k] = result
    return results
