"""Pieces on the workers of a Dask cluster, or in the tasks of a Dask graph where there is none.

Nothing is collected: questions are sent as tasks to where the pieces lie. With `dask.distributed` pieces are kept by
the workers, and the scheduler makes those of a lost worker again; a question that was lost on the way is asked again.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from hypermargin.passes.home import Home, Question, Together
from hypermargin.passes.rows import Rows

#: How often a question is repeated when workers die, and the seconds to wait before.
RETRIES, PAUSE = 5, 0.5


class Cluster(Home):
    """Pieces as futures of a `distributed.Client`."""

    together = Together.SAME_POINTS

    def __init__(self, client: Any, futures: Sequence[Any]):
        self.client, self.futures = client, list(futures)

    def ask(self, question: Question, *arguments: Any) -> list[Any]:
        return self._gathered(lambda: self._submitted(question, arguments))

    def grouped(
        self, question: Question, finish: Question, items: Sequence[Any], n_jobs: int | None = None
    ) -> list[Any]:
        """Every item is finished by one worker, to which the answers of all pieces go."""

        def tasks() -> list[Any]:
            return [self._task(finish, self._submitted(question, (item,)), item) for item in items]

        return self._gathered(tasks)

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
                self.client.retry(self.futures)
        raise AssertionError("not reached")

    def map(self, change: Question, *arguments: Any) -> "Cluster":
        return Cluster(self.client, self._submitted(change, arguments))

    def _submitted(self, function: Question, arguments: tuple[Any, ...]) -> list[Any]:
        return [self._task(function, piece, *arguments) for piece in self.futures]

    def _task(self, function: Question, *arguments: Any) -> Any:
        return self.client.submit(function, *arguments, pure=False, retries=RETRIES)


class Graph(Home):
    """Pieces as tasks of a Dask graph, computed by its local scheduler anew for every question."""

    together = Together.ALWAYS

    def __init__(self, pieces: Sequence[Any]):
        self.pieces = list(pieces)

    def ask(self, question: Question, *arguments: Any) -> list[Any]:
        import dask

        return list(dask.compute(*self.map(question, *arguments).pieces))

    def map(self, change: Question, *arguments: Any) -> "Graph":
        import dask

        return Graph([dask.delayed(change, pure=False)(piece, *arguments) for piece in self.pieces])

    def grouped(
        self, question: Question, finish: Question, items: Sequence[Any], n_jobs: int | None = None
    ) -> list[Any]:
        import dask

        answers = [self.map(question, item).pieces for item in items]
        tasks = [dask.delayed(finish, pure=False)(*pair) for pair in zip(answers, items, strict=True)]
        return list(dask.compute(*tasks))


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, dataframe or series; does not import Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def dask_home(X: Any, y: Any = None, sample_weight: Any = None) -> Home:
    """The rows of Dask collections, a partition per piece, as a home of `Rows`.

    X is an array or a dataframe; y and weights are Dask collections with the partitions of X, or NumPy arrays as long.
    """
    import dask

    blocks = _partitions(X)
    beside = [_aligned(values, name, blocks) for values, name in ((y, "y"), (sample_weight, "sample_weight"))]
    tasks = [dask.delayed(_rows)(X, *(None if v is None else v[k] for v in beside)) for k, X in enumerate(blocks)]
    client = _client()
    return Graph(tasks) if client is None else Cluster(client, client.compute(tasks, retries=RETRIES))


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
    import dask
    import numpy as np

    lengths = dask.compute(*[dask.delayed(len)(block) for block in blocks])
    values = np.asarray(values)
    if len(values) != sum(lengths):
        raise ValueError(f"X has {sum(lengths)} rows and {name} has {len(values)} entries")
    return np.split(values, np.cumsum(lengths)[:-1])


def _rows(X: Any, y: Any, weight: Any) -> Rows:
    """A partition, with dataframes and series as arrays."""
    X, y, weight = (v.to_numpy() if hasattr(v, "to_numpy") else v for v in (X, y, weight))
    return Rows(X, y, weight)
