"""Pieces on the workers of a Dask cluster, or of a Dask graph that is computed here where there is none.

Nothing is collected: questions travel to where the pieces lie. With `dask.distributed` a worker keeps its pieces in
bundles, one for each of its threads, and a question is one message to each worker: the scheduler has no tasks to place,
which takes five times as long (2 ms against 11 ms with two workers; `benchmarks/bench_passes.py`). Bundles are results
of tasks all the same. So the scheduler makes those of a lost worker again, and where a message comes back without its
answer, the question is put as tasks.
"""

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from hypermargin.data.executors import BatchPolicy, DataSource, OutOfCore, Question
from hypermargin.data.readers import Rows, check_lengths

#: How often a question is repeated when workers die, and the seconds to wait before.
RETRIES, PAUSE = 5, 0.5
#: Seconds without an answer after which workers are looked for.
PATIENCE = 1.0

#: The keys of the bundles that workers have.
Holders = dict[str, list[Any]]


class Bundle(NamedTuple):
    """Pieces that lie together: the future of their list, their numbers among all pieces, and where they belong."""

    future: Any
    numbers: tuple[int, ...]
    worker: str


class Cluster(DataSource):
    """Pieces in the bundles of a `distributed.Client`."""

    together = BatchPolicy.SAME_POINTS

    def __init__(self, client: Any, bundles: Iterable[Bundle]):
        self.client, self.bundles = client, list(bundles)
        self._holders: Holders = {}  # the keys of the bundles that each worker has, once that is known

    @classmethod
    def of(cls, client: Any, pieces: Sequence[Any]) -> "Cluster":
        """The pieces that these futures are, bundled where they were made."""
        from distributed import wait

        wait(pieces)
        members: dict[str, list[int]] = {}
        for number, holders in enumerate(client.who_has(pieces).values()):
            members.setdefault(min(holders, default=""), []).append(number)
        home = cls(client, [])
        threads = client.nthreads()
        for worker, numbers in members.items():
            count = min(len(numbers), threads.get(worker, 1))
            for share in (tuple(numbers[k::count]) for k in range(count)):
                bundle = Bundle(None, share, worker)
                home.bundles.append(bundle._replace(future=home._task(bundle, _bundled, *(pieces[k] for k in share))))
        return home

    def ask(self, question: Question, *arguments: Any) -> list[Any]:
        answers = self._by_message(question, arguments)
        if answers is None:
            answers = self._gathered(lambda: self._by_task(question, arguments))
        return _in_order(answers, [bundle.numbers for bundle in self.bundles])

    def map(self, change: Question, *arguments: Any) -> "Cluster":
        futures = self._by_task(change, arguments)
        return type(self)(
            self.client, [b._replace(future=future) for b, future in zip(self.bundles, futures, strict=True)]
        )

    def grouped(
        self, question: Question, finish: Question, items: Sequence[Any], n_jobs: int | None = None
    ) -> list[Any]:
        """Every item is finished by one worker, to which the answers of all pieces go."""
        numbers = [bundle.numbers for bundle in self.bundles]

        def tasks() -> list[Any]:
            return [self._task(None, _finished, self._by_task(question, (k,)), numbers, finish, k) for k in items]

        return self._gathered(tasks)

    def _by_message(self, question: Question, arguments: tuple[Any, ...]) -> list[list[Any]] | None:
        """The answers of all bundles; None where a bundle is not yet made or lost, or the question failed."""
        self._holders = self._holders or self._found()
        if not self._holders:
            return None
        told = self._told(question, arguments)
        if any(isinstance(part, BaseException) for part in told.values()):
            self._holders = {}
            return None
        answers = {key: answer for part in told.values() for key, answer in part}
        return [answers[bundle.future.key] for bundle in self.bundles]

    def _told(self, question: Question, arguments: tuple[Any, ...]) -> dict[str, Any]:
        """What every worker says, an error where it says nothing.

        The scheduler tries for half a minute to reach a worker that has just died, which nobody waits for here.
        """
        box: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

        def send() -> None:
            try:
                workers = list(self._holders)
                box.put(self.client.run(_answers_here, *message, workers=workers, on_error="return"))
            except BaseException as error:  # the scheduler itself is out of reach, which the tasks will tell
                box.put({"": error})

        message = self._holders, question, arguments
        threading.Thread(target=send, daemon=True).start()
        while True:
            try:
                return box.get(timeout=PATIENCE)
            except queue.Empty:
                lost = self._holders.keys() - self.client.nthreads().keys()
                if lost:
                    return {worker: OSError(f"the worker {worker} has gone") for worker in lost}

    def _found(self) -> Holders:
        """The bundles by the workers that have them, as soon as all are made; nothing where one is lost."""
        from distributed import wait

        futures = [bundle.future for bundle in self.bundles]
        wait(futures)
        holders: Holders = {}
        for key, workers in self.client.who_has(futures).items():
            if not workers:
                return {}
            holders.setdefault(min(workers), []).append(key)
        return holders

    def _gathered(self, tasks: Callable[[], list[Any]]) -> list[Any]:
        """The results of tasks, which are begun again where workers died."""
        from distributed import KilledWorker

        for attempt in range(RETRIES + 1):
            futures = tasks()
            try:
                return self.client.gather(futures)
            except (KilledWorker, OSError):  # the tasks that lie behind are made again by the scheduler
                if attempt == RETRIES:
                    raise
                time.sleep(PAUSE)
                self.client.retry([bundle.future for bundle in self.bundles])
        raise AssertionError("not reached")

    def _by_task(self, function: Question, arguments: tuple[Any, ...]) -> list[Any]:
        return [self._task(bundle, _of_pieces, bundle.future, function, arguments) for bundle in self.bundles]

    def _task(self, bundle: Bundle | None, function: Question, *arguments: Any) -> Any:
        """A task, done where the bundle belongs if that worker is still there."""
        workers = [bundle.worker] if bundle is not None and bundle.worker else None
        return self.client.submit(
            function, *arguments, pure=False, retries=RETRIES, workers=workers, allow_other_workers=workers is not None
        )


def _bundled(*pieces: Any) -> list[Any]:
    return list(pieces)


def _of_pieces(pieces: list[Any], function: Question, arguments: tuple[Any, ...]) -> list[Any]:
    return [function(piece, *arguments) for piece in pieces]


async def _answers_here(
    holders: Holders, question: Question, arguments: tuple[Any, ...], dask_worker: Any
) -> list[tuple[Any, list[Any]]]:
    """The answers of the worker's own bundles, each with its key, from threads: so the worker stays in touch."""
    keys = holders[dask_worker.address]
    answers = (asyncio.to_thread(_of_pieces, dask_worker.data[key], question, arguments) for key in keys)
    return list(zip(keys, await asyncio.gather(*answers), strict=True))


def _in_order(answers: Sequence[Sequence[Any]], numbers: Sequence[Sequence[int]]) -> list[Any]:
    """The answers of bundles in the order of the pieces."""
    by_number = {
        number: answer for pair in zip(numbers, answers, strict=True) for number, answer in zip(*pair, strict=True)
    }
    return [by_number[number] for number in range(len(by_number))]


def _finished(answers: Sequence[Sequence[Any]], numbers: Sequence[Sequence[int]], finish: Question, item: Any) -> Any:
    return finish(_in_order(answers, numbers), item)


class Partitions:
    """The results of Dask tasks, computed by the local scheduler of Dask, some at a time."""

    slow_bytes = 1  # nobody knows how many there are

    def __init__(self, tasks: Sequence[Any]):
        self.tasks = list(tasks)

    def __iter__(self) -> Iterator[Any]:
        import dask

        step = os.cpu_count() or 1
        for start in range(0, len(self.tasks), step):
            yield from dask.compute(*self.tasks[start : start + step])


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, dataframe or series; does not import Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def dask_home(X: Any, y: Any = None, sample_weight: Any = None) -> DataSource:
    """The rows of Dask collections, a partition per piece, as a home of `Rows`.

    X is an array or a dataframe; y and weights are Dask collections with the partitions of X, or NumPy arrays as long.
    """
    import dask

    blocks = _partitions(X)
    beside = [_aligned(values, name, blocks) for values, name in ((y, "y"), (sample_weight, "sample_weight"))]
    tasks = [dask.delayed(_rows)(X, *(None if v is None else v[k] for v in beside)) for k, X in enumerate(blocks)]
    client = _client()
    return (
        OutOfCore(Partitions(tasks)) if client is None else Cluster.of(client, client.compute(tasks, retries=RETRIES))
    )


def _client() -> Any:
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _partitions(values: Any) -> list[Any]:
    """The delayed partitions of a collection, along the rows."""
    if getattr(values, "ndim", 1) == 2 and hasattr(values, "rechunk"):
        values = values.rechunk({1: -1})
        return values.to_delayed()[:, 0].tolist()
    delayed = values.to_delayed()
    return delayed.ravel().tolist() if hasattr(delayed, "ravel") else list(delayed)


def _aligned(values: Any, name: str, blocks: list[Any]) -> list[Any] | None:
    """One part of `values` for every partition of X."""
    if values is None:
        return None
    if is_dask(values):
        parts = _partitions(values)
        if len(parts) != len(blocks):
            sizes = f"X has {len(blocks)} partitions and {name} has {len(parts)}"
            raise ValueError(f"{sizes}; repartition one like the other")
        return parts
    if isinstance(values, str):
        raise TypeError(f"{name} is the name {values!r}: pass the column itself, as a Dask series, and X without it")
    import dask
    import numpy as np

    lengths = dask.compute(*[dask.delayed(len)(block) for block in blocks])
    values = np.asarray(values)
    check_lengths(sum(lengths), **{name: values})
    return np.split(values, np.cumsum(lengths)[:-1])


def _rows(X: Any, y: Any, weight: Any) -> Rows:
    """A partition, with dataframes and series as arrays."""
    X, y, weight = (v.to_numpy() if hasattr(v, "to_numpy") else v for v in (X, y, weight))
    return Rows(X, y, weight)
