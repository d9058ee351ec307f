"""A run: what the cache holds already is read, the rest is computed and kept, and both are handed back together."""

from collections.abc import Callable, Sequence
from typing import Any

from hypermargin_studies.reproduction.cache import Cache
from hypermargin_studies.reproduction.cells import Cell, Group
from hypermargin_studies.reproduction.engine import FAR, run_cells
from hypermargin_studies.workers.environment import commit

Results = list[tuple[Cell, dict[str, Any]]]


def split_by_cache(
    cells: Sequence[Cell], cache: Cache, limit: float, fresh: bool = False, device: str | None = None
) -> tuple[Results, list[Cell]]:
    """Results that need not be computed again, and the cells that must be; with `fresh` all of them."""
    done: Results = []
    missing = []
    for cell in cells:
        record = None if fresh else cache.settled(cell, limit, device)
        if record is None:
            missing.append(cell)
        else:
            done.append((cell, record))
    return done, missing


def run_missing(
    cells: Sequence[Cell],
    cache: Cache,
    *,
    jobs: int,
    limit: float,
    dask: str | None = None,
    device: str | None = None,
    tell: Callable[[Cell, dict[str, Any]], None] | None = None,
) -> Results:
    """Compute cells, keep each as it finishes, and call `tell` with it."""
    made_by = commit()
    results: Results = []
    for cell, record in run_cells(cells, jobs=jobs, limit=limit, dask=dask, device=device):
        record["commit"] = made_by
        cache.write(cell, record)
        results.append((cell, record))
        if tell is not None:
            tell(cell, record)
    return results


def expected_seconds(cells: Sequence[Cell], limit: float, device: str | None = None) -> float:
    """Seconds of one core for these cells: none takes longer than the limit, and a group that meets it does so once.

    What is far above the limit is not begun, except on a device, for which no estimates were made.
    """
    total = 0.0
    over: set[Group] = set()
    for cell in cells:
        estimate = cell.estimate()
        if estimate < limit:
            total += estimate
        elif (estimate <= FAR * limit or cell.runs_on(device)) and cell.group not in over:
            over.add(cell.group)
            total += limit
    return total
