"""A run: the cells of a plan, those that are on disk already read, the rest computed within a time limit and kept."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from hypermargin_studies.accuracy.cells import TOGETHER, Cell, load, run_cell, splits
from hypermargin_studies.workers.environment import commit
from hypermargin_studies.workers.limits import LimitedWorker
from hypermargin_studies.workers.records import Records

FINISHED, TIMED_OUT, FAILED, NOT_RUN = "finished", "time limit", "failed", "not run"
Results = dict[Cell, dict[str, Any]]


def plan(
    datasets: Sequence[str],
    contestants: Sequence[str],
    *,
    with_moved: bool,
    repetitions: int | None = None,
    folds: int | None = None,
) -> list[Cell]:
    """All cells: a fold of every data set before the next fold, and data as it lies before data that was moved.

    So a run that is ended early has compared all contestants on as many data sets as it could. Small sets come first.
    `contestants` are peers, and `TOGETHER` for all of ours. Moved data is measured once, whatever the repetitions.
    """
    sizes = sorted((len(load(name)[1]), name) for name in datasets)
    rounds = {name: splits(size, repetitions, folds) for size, name in sizes}
    return [
        Cell(name, contestant, is_moved, *rounds[name][k])
        for is_moved in ((False, True) if with_moved else (False,))
        for k in range(max(map(len, rounds.values())))
        for _, name in sizes
        if k < len(rounds[name]) and not (is_moved and rounds[name][k][0])
        for contestant in contestants
    ]


def read_results(cells: Sequence[Cell], folder: Path) -> Results:
    """Records on disk of cells that finished."""
    records = Records(folder)
    found = {cell: records.read(cell.key()) for cell in cells}
    return {cell: record for cell, record in found.items() if record is not None and record["state"] == FINISHED}


def run_missing(
    cells: Sequence[Cell], folder: Path, *, jobs: int, limit: float, tell: Callable[[Cell, dict[str, Any]], None]
) -> None:
    """Compute cells in `jobs` processes, `limit` seconds each at most, keep each as it finishes, and call `tell`."""
    records, made_by = Records(folder), commit()
    for cell, record in _computed(cells, jobs, limit):
        record |= {"commit": made_by, "cell": cell.to_dict()}
        records.write(cell.key(), record)
        tell(cell, record)


def _computed(cells: Sequence[Cell], jobs: int, limit: float) -> Iterator[tuple[Cell, dict[str, Any]]]:
    waiting: SimpleQueue[Cell] = SimpleQueue()
    done: SimpleQueue[tuple[Cell, dict[str, Any]]] = SimpleQueue()
    for cell in cells:
        waiting.put(cell)
    workers = [LimitedWorker(run_cell.__module__) for _ in range(min(jobs, len(cells)))]

    def serve(worker: LimitedWorker) -> None:
        while True:
            try:
                cell = waiting.get_nowait()
            except Empty:
                return
            answer = worker.call("run_cell", {"cell": cell.to_dict()}, limit)
            if answer.timed_out:
                done.put((cell, {"state": TIMED_OUT, "limit": limit, "reason": f"took more than {limit:g} s"}))
            elif answer.error is not None:
                done.put((cell, {"state": FAILED, "reason": answer.error}))
            else:
                done.put((cell, {"state": FINISHED, "measures": answer.value}))

    threads = [Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        for _ in cells:
            yield done.get()
    finally:
        for worker in workers:
            worker.close()


__all__ = ["TOGETHER", "Results", "plan", "read_results", "run_missing"]
