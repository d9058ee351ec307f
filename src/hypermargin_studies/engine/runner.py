"""Run cells side by side, here or on a Dask cluster, and keep each as it finishes."""

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed, parallel_config

from hypermargin.progress import Progress
from hypermargin_studies.engine.cells import FAILED, FINISHED, SKIPPED, TIMED_OUT, Cache, Cell, Record, Results
from hypermargin_studies.engine.environment import commit
from hypermargin_studies.engine.worker import FOREVER, LimitedWorker

#: A cell whose estimate is this many times the limit is not begun: estimates are rough, but not as rough as that.
FAR = 3.0
#: Seconds to wait for a Dask scheduler.
CONNECT = 10
_HERE = threading.local()
_WORKERS: list[LimitedWorker] = []


def run_cells(
    cells: Iterable[Cell], *, jobs: int = 1, limit: float = FOREVER, dask: str | None = None, device: str | None = None
) -> Iterator[tuple[Any, Record]]:
    """Run cells and yield ``(cell, record)`` in the order they finish.

    Parameters
    ----------
    cells : iterable of Cell
        All of one class.
    jobs : int
        Cells run at a time on this machine; a cluster decides for itself.
    limit : float
        Seconds a cell may take. Once a cell has run out of time, the others of its group are not begun.
    dask : str, optional
        Address of a Dask scheduler. Its workers need this package and the data.
    device : str, optional
        PyTorch's name of an accelerator, "cuda", for the cells that can use one. Their estimates are for processors,
        and then stop nothing.
    """
    hopeless: dict[Hashable, Cell] = {}
    tasks = (delayed(work)(cell, limit, hopeless, device) for cell in cells)
    try:
        with _backend(jobs, dask):
            # Tasks are handed out one at a time, so that the next can profit from what the last has shown.
            parallel = Parallel(
                n_jobs=-1 if dask else jobs,
                return_as="generator_unordered",
                pre_dispatch="all" if dask else jobs,
                batch_size=1,
            )
            yield from parallel(tasks)
    finally:
        while _WORKERS:
            _WORKERS.pop().close()


def work(cell: Cell, limit: float, hopeless: dict[Hashable, Cell], device: str | None = None) -> tuple[Cell, Record]:
    """One cell in the worker process of this thread.

    `hopeless` has the cells that ran out of time. Threads share it, so that the next cell knows before it is begun.
    """
    if cell.group in hopeless:
        reason = f"{hopeless[cell.group].in_words()} took more than {limit:g} s"
        return cell, {"state": SKIPPED, "limit": limit, "reason": reason}
    if not cell.runs_on(device) and cell.estimate() > FAR * limit:
        reason = f"estimated at {cell.estimate():.0f} s, far more than {limit:g} s"
        return cell, {"state": SKIPPED, "limit": limit, "reason": reason}
    if getattr(_HERE, "worker", None) not in _WORKERS:  # none yet, or that of a run which is over
        _HERE.worker = LimitedWorker(type(cell).__module__)
        _WORKERS.append(_HERE.worker)
    start = time.perf_counter()
    answer = _HERE.worker.call("run_cell", {"cell": cell.to_dict(), "device": device}, limit)
    record: Record = {"state": FINISHED, "limit": limit, "elapsed": time.perf_counter() - start}
    if answer.timed_out:
        hopeless[cell.group] = cell
        record |= {"state": TIMED_OUT, "reason": f"took more than {limit:g} s"}
    elif answer.error is not None:
        record |= {"state": FAILED, "reason": answer.error}
    else:
        record[cell.RESULT] = answer.value
    return cell, record


def run_missing(
    cells: Sequence[Cell], cache: Cache, *, tell: Callable[[Any, Record], None] | None = None, **how: Any
) -> Results:
    """Compute cells as `run_cells` does, keep each as it finishes, and call `tell` with it."""
    made_by = commit()
    results: Results = []
    for cell, record in run_cells(cells, **how):
        record["commit"] = made_by
        cache.write(cell, record)
        results.append((cell, record))
        if tell is not None:
            tell(cell, record)
    return results


def run_with_progress(cells: Sequence[Cell], cache: Cache, **how: Any) -> Results:
    """`run_missing`, with progress and failures on standard error."""
    if not cells:
        return []
    with Progress("cells", len(cells)) as progress:

        def tell(cell: Cell, record: Record) -> None:
            progress.at(progress.done + 1, cell.in_words())
            if record["state"] == FAILED:
                progress.console.print(f"failed: {cell.in_words()}: {record['reason']}", markup=False, highlight=False)

        try:
            return run_missing(cells, cache, tell=tell, **how)
        except KeyboardInterrupt:
            kept = f"finished cells are kept in {cache.folder}; the same command goes on from there"
            progress.console.print(kept, markup=False, highlight=False, soft_wrap=True)
            raise


def expected_seconds(cells: Sequence[Cell], limit: float, device: str | None = None) -> float:
    """Seconds of one core for these cells: none takes longer than the limit, and a group that meets it does so once.

    What is far above the limit is not begun, except on a device, for which no estimates were made.
    """
    total = 0.0
    over: set[Hashable] = set()
    for cell in cells:
        estimate = cell.estimate()
        if estimate < limit:
            total += estimate
        elif (estimate <= FAR * limit or cell.runs_on(device)) and cell.group not in over:
            over.add(cell.group)
            total += limit
    return total


@contextmanager
def _backend(jobs: int, dask: str | None) -> Iterator[None]:
    """joblib's threads, or its Dask backend with a client of its own."""
    if dask is None:
        with parallel_config("threading", n_jobs=jobs):
            yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--dask needs the package distributed: pip install 'hypermargin[cluster]'") from None
    try:
        client = Client(dask, timeout=CONNECT)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(f"no Dask scheduler answers at {dask!r} ({type(error).__name__})") from error
    with client, parallel_config("dask", client=client):
        yield
