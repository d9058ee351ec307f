"""Blocks on the workers of a Dask cluster, or of a Dask graph that is computed here where there is none.

Nothing is collected: functions travel to where the blocks are. With `dask.distributed` a worker keeps its blocks in
bundles, one for each of its threads, and a map is one message to each worker: the scheduler has no tasks to place,
which takes five times as long (2 ms against 11 ms with two workers; `benchmarks/bench_passes.py`). Bundles are results
of tasks all the same. So the scheduler makes those of a lost worker again, and where a message comes back without its
results, the map is made of tasks.
"""

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from hypermargin.data.executors import BatchPolicy, DataSource, Function, OutOfCore
from hypermargin.data.readers import Rows, check_lengths

#: How often a map is repeated when workers die, and the seconds to wait before: a new worker is there within seconds.
RETRIES, PAUSE = 5, 0.5
#: Seconds without a result after which workers are looked for; the scheduler itself waits half a minute for a dead one.
PATIENCE = 1.0


class Bundle(NamedTuple):
    """Blocks that lie together: the future of their list, their numbers among all blocks, and where they belong."""

    future: Any
    numbers: tuple[int, ...]
    worker: str


class Cluster(DataSource):
    """Blocks in the bundles of a `distributed.Client`."""

    batch_policy = BatchPolicy.SAME_POINTS

    def __init__(self, client: Any, bundles: Iterable[Bundle]):
        self.client, self.bundles = client, list(bundles)
        self._holders: dict[str, list[Any]] = {}  # the keys of the bundles of each worker, once that is known

    @classmethod
    def of(cls, client: Any, blocks: Sequence[Any]) -> "Cluster":
        """The blocks of these futures, bundled where they were made."""
        from distributed import wait

        wait(blocks)
        members: dict[str, list[int]] = {}
        for number, holders in enumerate(client.who_has(blocks).values()):
            members.setdefault(min(holders, default=""), []).append(number)
        source, threads = cls(client, []), client.nthreads()
        for worker, numbers in members.items():
            count = min(len(numbers), threads.get(worker, 1))
            for share in (tuple(numbers[k::count]) for k in range(count)):
                future = source._task(worker, _bundled, *(blocks[k] for k in share))
                source.bundles.append(Bundle(future, share, worker))
        return source

    def map_blocks(self, function: Function, *arguments: Any) -> list[Any]:
        results = self._by_message(function, arguments)
        if results is None:
            results = self._gathered(lambda: self._by_task(function, arguments))
        return _in_order(results, [bundle.numbers for bundle in self.bundles])

    def map(self, change: Function, *arguments: Any) -> "Cluster":
        futures = self._by_task(change, arguments)
        pairs = zip(self.bundles, futures, strict=True)
        return type(self)(self.client, [bundle._replace(future=future) for bundle, future in pairs])

    def map_reduce(
        self, function: Function, reduce: Function, items: Sequence[Any], n_jobs: int | None = None
    ) -> list[Any]:
        """Every item is reduced by one worker, to which the results of all blocks go."""
        numbers = [bundle.numbers for bundle in self.bundles]

        def tasks() -> list[Any]:
            return [self._task("", _reduced, self._by_task(function, (k,)), numbers, reduce, k) for k in items]

        return self._gathered(tasks)

    def _by_message(self, function: Function, arguments: tuple[Any, ...]) -> list[list[Any]] | None:
        """The results of all bundles; None where a bundle is not yet made or lost, or the function failed."""
        self._holders = self._holders or self._found()
        if not self._holders:
            return None
        replies = self._replies(function, arguments)
        if any(isinstance(part, BaseException) for part in replies.values()):
            self._holders = {}
            return None
        results = {key: result for part in replies.values() for key, result in part}
        return [results[bundle.future.key] for bundle in self.bundles]

    def _replies(self, function: Function, arguments: tuple[Any, ...]) -> dict[str, Any]:
        """The reply of every worker, an error where there is none."""
        box: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        message = self._holders, function, arguments

        def send() -> None:
            try:
                box.put(self.client.run(_results_here, *message, workers=list(message[0]), on_error="return"))
            except BaseException as error:  # the scheduler itself is out of reach, which the tasks will report
                box.put({"": error})

        threading.Thread(target=send, daemon=True).start()
        while True:
            try:
                return box.get(timeout=PATIENCE)
            except queue.Empty:
                lost = self._holders.keys() - self.client.nthreads().keys()
                if lost:
                    return {worker: OSError(f"the worker {worker} has gone") for worker in lost}

    def _found(self) -> dict[str, list[Any]]:
        """The bundles by the workers that have them, as soon as all are made; nothing where one is lost."""
        from distributed import wait

        futures = [bundle.future for bundle in self.bundles]
        wait(futures)
        holders: dict[str, list[Any]] = {}
        for key, workers in self.client.who_has(futures).items():
            if not workers:
                return {}
            holders.setdefault(min(workers), []).append(key)
        return holders

    def _gathered(self, tasks: Callable[[], list[Any]]) -> list[Any]:
        """The results of tasks, which are submitted again where workers died."""
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

    def _by_task(self, function: Function, arguments: tuple[Any, ...]) -> list[Any]:
        return [self._task(bundle.worker, _of_bundle, bundle.future, function, arguments) for bundle in self.bundles]

    def _task(self, worker: str, function: Function, *arguments: Any) -> Any:
        """A task, done by the worker of that name if there is one and it is still there."""
        place = {"workers": [worker], "allow_other_workers": True} if worker else {}
        return self.client.submit(function, *arguments, pure=False, retries=RETRIES, **place)


def _bundled(*blocks: Any) -> list[Any]:
    return list(blocks)


def _of_bundle(blocks: list[Any], function: Function, arguments: tuple[Any, ...]) -> list[Any]:
    return [function(block, *arguments) for block in blocks]


async def _results_here(
    holders: dict[str, list[Any]], function: Function, arguments: tuple[Any, ...], dask_worker: Any
) -> list[tuple[Any, list[Any]]]:
    """The results of the worker's own bundles, each with its key, from threads: so the worker stays in touch."""
    keys = holders[dask_worker.address]
    results = (asyncio.to_thread(_of_bundle, dask_worker.data[key], function, arguments) for key in keys)
    return list(zip(keys, await asyncio.gather(*results), strict=True))


def _in_order(results: Sequence[Sequence[Any]], numbers: Sequence[Sequence[int]]) -> list[Any]:
    """The results of bundles in the order of the blocks."""
    pairs = zip(numbers, results, strict=True)
    by_number = {number: result for pair in pairs for number, result in zip(*pair, strict=True)}
    return [by_number[number] for number in range(len(by_number))]


def _reduced(results: Sequence[Sequence[Any]], numbers: Sequence[Sequence[int]], reduce: Function, item: Any) -> Any:
    return reduce(_in_order(results, numbers), item)


class Partitions:
    """The results of Dask tasks, computed by the local scheduler of Dask, some at a time."""

    slow_bytes = 1  # how many there are is not known

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


def dask_source(X: Any, y: Any = None, sample_weight: Any = None) -> DataSource:
    """The rows of Dask collections as a source of `Rows`, a partition per block.

    X is an array or a dataframe; y and weights are Dask collections with the partitions of X, or NumPy arrays as long.
    """
    import dask

    blocks = _partitions(X)
    beside = [_aligned(values, name, blocks) for values, name in ((y, "y"), (sample_weight, "sample_weight"))]
    tasks = [dask.delayed(_rows)(X, *(None if v is None else v[k] for v in beside)) for k, X in enumerate(blocks)]
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):  # there is no client
        return OutOfCore(Partitions(tasks))
    return Cluster.of(client, client.compute(tasks, retries=RETRIES))


def _partitions(values: Any) -> list[Any]:
    """The delayed partitions of a collection, along the rows."""
    if getattr(values, "ndim", 1) == 2 and hasattr(values, "rechunk"):
        return values.rechunk({1: -1}).to_delayed()[:, 0].tolist()
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

    lengths = dask.compute(*[dask.delayed(len)(block) for block in blocks])
    values = np.asarray(values)
    check_lengths(sum(lengths), **{name: values})
    return np.split(values, np.cumsum(lengths)[:-1])


def _rows(X: Any, y: Any, weight: Any) -> Rows:
    """A partition, with dataframes and series as arrays."""
    return Rows(*(v.to_numpy() if hasattr(v, "to_numpy") else v for v in (X, y, weight)))
