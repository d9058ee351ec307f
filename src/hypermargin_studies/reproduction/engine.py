"""Run the cells of a plan side by side, here or on a Dask cluster, and return each as it finishes."""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from joblib import Parallel, delayed, parallel_config

from hypermargin_studies.reproduction.cache import FAILED, FINISHED, SKIPPED, TIMED_OUT
from hypermargin_studies.reproduction.cells import Cell, Group, run_cell
from hypermargin_studies.workers.limits import LimitedWorker

#: A cell whose estimate is this many times the limit is not begun: estimates are rough, but not as rough as that.
FAR = 3.0
_HERE = threading.local()
_WORKERS: list[LimitedWorker] = []


def run_cells(
    cells: Iterable[Cell], *, jobs: int, limit: float, dask: str | None = None, device: str | None = None
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """Run cells and yield ``(cell, record)`` in the order they finish.

    Parameters
    ----------
    cells : iterable of Cell
    jobs : int
        Cells run at a time on this machine; a cluster decides for itself.
    limit : float
        Seconds a cell may take. Once a cell has run out of time, the others of its group are not begun.
    dask : str, optional
        Address of a Dask scheduler. Its workers need this package and the data.
    device : str, optional
        PyTorch's name of an accelerator, "cuda", for the methods that can use one. Their estimates are for processors,
        and then stop nothing.
    """
    hopeless: dict[Group, Cell] = {}

    def tasks() -> Iterator[Any]:
        for cell in cells:
            yield delayed(work)(cell, limit, hopeless, device)

    try:
        with _backend(jobs, dask):
            # Tasks are handed out one at a time, so that the next can profit from what the last has shown.
            parallel = Parallel(
                n_jobs=-1 if dask else jobs,
                return_as="generator_unordered",
                pre_dispatch="all" if dask else jobs,
                batch_size=1,
            )
            yield from parallel(tasks())
    finally:
        while _WORKERS:
            _WORKERS.pop().close()


def work(
    cell: Cell, limit: float, hopeless: dict[Group, Cell], device: str | None = None
) -> tuple[Cell, dict[str, Any]]:
    """One cell in the worker process of this thread.

    `hopeless` has the cells that ran out of time. Threads share it, so that the next cell knows before it is begun.
    """
    if cell.group in hopeless:
        reason = f"{describe(hopeless[cell.group])} took more than {limit:g} s"
        return cell, {"state": SKIPPED, "limit": limit, "reason": reason}
    if not cell.runs_on(device) and cell.estimate() > FAR * limit:
        reason = f"estimated at {cell.estimate():.0f} s, far more than {limit:g} s"
        return cell, {"state": SKIPPED, "limit": limit, "reason": reason}
    if getattr(_HERE, "worker", None) not in _WORKERS:  # none yet, or that of a run which is over
        _HERE.worker = LimitedWorker(run_cell.__module__)
        _WORKERS.append(_HERE.worker)
    start = time.perf_counter()
    answer = _HERE.worker.call("run_cell", {"cell": cell.to_dict(), "device": device}, limit)
    record: dict[str, Any] = {"state": FINISHED, "limit": limit, "elapsed": time.perf_counter() - start}
    if answer.timed_out:
        hopeless[cell.group] = cell
        record |= {"state": TIMED_OUT, "reason": f"took more than {limit:g} s"}
    elif answer.error is not None:
        record |= {"state": FAILED, "reason": answer.error}
    else:
        record["folds"] = answer.value
    return cell, record


def describe(cell: Cell) -> str:
    """A cell in words."""
    C = "" if cell.C is None else f", C = {cell.C:g}"
    folds = f"fold {cell.folds[0] + 1}" if len(cell.folds) == 1 else f"{len(cell.folds)} folds"
    return f"{cell.dataset}, {cell.scheme}{C}, {cell.method}, {folds}"


def _backend(jobs: int, dask: str | None) -> AbstractContextManager[Any]:
    if dask is None:
        return parallel_config("threading", n_jobs=jobs)
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--dask needs the package distributed: pip install 'hypermargin[cluster]'") from None
    try:
        client = Client(dask, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(f"no Dask scheduler answers at {dask!r} ({type(error).__name__})") from error
    return _Closing(client)


class _Closing(AbstractContextManager[Any]):
    """joblib's Dask backend while a client lasts."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._config = parallel_config("dask", client=client) if client else nullcontext()

    def __enter__(self) -> Any:
        return self._config.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._config.__exit__(*error)
        self._client.close()
