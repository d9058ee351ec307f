"""Cells, the parts of a study that are run and kept one by one: the folder of their records, and how they are run."""

import hashlib
import json
import os
import platform
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from joblib import Parallel, delayed, parallel_config

from hypermargin import __version__
from hypermargin.progress import Progress
from hypermargin_studies.engine.worker import FOREVER, LimitedWorker

FINISHED, TIMED_OUT, FAILED, SKIPPED, NOT_RUN = "finished", "time limit", "failed", "skipped", "not run"
Record = dict[str, Any]
Results = list[tuple[Any, Record]]


@dataclass(frozen=True)
class Cell(ABC):
    """What is run and kept as a whole; its fields are plain values.

    The module of a subclass has a function ``run_cell(cell, device)`` for workers to call, which takes the plain form
    of a cell and returns plain values.
    """

    #: The entry of a record that holds what `run_cell` returned.
    RESULT: ClassVar[str]

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Everything the result depends on, as plain values: data, settings and version."""

    @abstractmethod
    def in_words(self) -> str:
        """What progress and reasons call it."""

    def key(self) -> str:
        """The name of its record."""
        return hashlib.sha256(json.dumps(self.content(), sort_keys=True).encode()).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def group(self) -> Hashable:
        """Cells of one group take about as long: after one has run out of time, the others are not begun."""
        return self

    def estimate(self) -> float:
        """Seconds it may take; 0 if that is not known."""
        return 0.0

    def runs_on(self, device: str | None) -> bool:
        """Whether it can use this accelerator."""
        return False


class Cache:
    """A folder of JSON records named by the keys of cells, each written when its cell finishes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, cell: Cell) -> Path:
        key = cell.key()
        return self.folder / key[:2] / f"{key}.json"

    def read(self, cell: Cell) -> Record | None:
        """The record of a cell; None if there is none, or only a damaged one."""
        record = None
        with suppress(OSError, ValueError):
            record = json.loads(self.path(cell).read_text(encoding="utf-8"))
        return record if isinstance(record, dict) and "state" in record else None

    def write(self, cell: Cell, record: Record) -> None:
        """Put the record in place in one step, so that no reader ever sees half of it."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        unfinished.write_text(json.dumps({"cell": cell.to_dict(), **record}), encoding="utf-8")
        unfinished.replace(path)

    def settled(self, cell: Cell, limit: float, device: str | None = None) -> Record | None:
        """The record of a cell that need not be run again: it finished, or was given up with at least as much time.

        What was given up on a processor may still succeed on a device.
        """
        record = self.read(cell) or {"state": NOT_RUN}
        given_up = record["state"] in (TIMED_OUT, SKIPPED) and record.get("limit", 0.0) >= limit
        return record if record["state"] == FINISHED or (given_up and not cell.runs_on(device)) else None

    def split(
        self, cells: Iterable[Any], limit: float, *, fresh: bool = False, device: str | None = None
    ) -> tuple[Results, list[Any]]:
        """Results that need not be computed again, and the cells that must be; with `fresh` all of them."""
        found = [(cell, None if fresh else self.settled(cell, limit, device)) for cell in cells]
        done = [(cell, record) for cell, record in found if record is not None]
        return done, [cell for cell, record in found if record is None]

    def whole(self, done: Results, missing: Iterable[Any]) -> Results:
        """Results of a report without a run: what is not settled is on disk, or has not been run yet."""
        return [*done, *((cell, self.read(cell) or {"state": NOT_RUN, "reason": "not run yet"}) for cell in missing)]


#: A cell whose estimate is this many times the limit is not begun: estimates are rough, but not as rough as that.
FAR = 3.0
#: Seconds to wait for a Dask scheduler: one that is there answers in milliseconds.
CONNECT = 10
PACKAGES = ("numpy", "scipy", "scikit-learn", "clarabel", "joblib", "python-flint", "matplotlib")
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
        PyTorch's name of an accelerator, "cuda", for the cells that can use one; their estimates then stop nothing.
    """
    hopeless: dict[Hashable, Cell] = {}
    tasks = (delayed(work)(cell, limit, hopeless, device) for cell in cells)
    # Tasks are handed out one at a time, so that the next can profit from what the last has shown.
    how = {"n_jobs": -1, "pre_dispatch": "all"} if dask else {"n_jobs": jobs, "pre_dispatch": jobs}
    try:
        with _backend(jobs, dask):
            yield from Parallel(return_as="generator_unordered", batch_size=1, **how)(tasks)
    finally:
        while _WORKERS:
            _WORKERS.pop().close()


def work(cell: Cell, limit: float, hopeless: dict[Hashable, Cell], device: str | None = None) -> tuple[Cell, Record]:
    """One cell in the worker process of this thread; threads share `hopeless`, the cells that ran out of time."""
    skipped: Record = {"state": SKIPPED, "limit": limit}
    if cell.group in hopeless:
        return cell, {**skipped, "reason": f"{hopeless[cell.group].in_words()} took more than {limit:g} s"}
    if not cell.runs_on(device) and cell.estimate() > FAR * limit:
        return cell, {**skipped, "reason": f"estimated at {cell.estimate():.0f} s, far more than {limit:g} s"}
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


def run_missing(cells: Sequence[Cell], cache: Cache, **how: Any) -> Results:
    """Compute cells as `run_cells` does and keep each as it finishes, with progress and failures on standard error."""
    results: Results = []
    if not cells:
        return results
    made_by = commit()
    style: dict[str, Any] = {"markup": False, "highlight": False, "soft_wrap": True}
    with Progress("cells", len(cells)) as progress:
        try:
            for cell, record in run_cells(cells, **how):
                record["commit"] = made_by
                cache.write(cell, record)
                results.append((cell, record))
                progress.at(progress.done + 1, cell.in_words())
                if record["state"] == FAILED:
                    progress.console.print(f"failed: {cell.in_words()}: {record['reason']}", **style)
        except KeyboardInterrupt:
            kept = f"finished cells are kept in {cache.folder}; the same command goes on from there"
            progress.console.print(kept, **style)
            raise
    return results


def expected_seconds(cells: Sequence[Cell], limit: float, device: str | None = None) -> float:
    """Seconds of one core for these cells: none takes longer than the limit, and a group that meets it does so once.

    What is far above the limit is not begun, except on a device, for which no estimates were made.
    """
    short = sum(cell.estimate() for cell in cells if cell.estimate() < limit)
    long = [
        cell for cell in cells if limit <= cell.estimate() and (cell.estimate() <= FAR * limit or cell.runs_on(device))
    ]
    return short + limit * len({cell.group for cell in long})


@contextmanager
def _backend(jobs: int, dask: str | None) -> Iterator[None]:
    """joblib's threads, or its Dask backend with a client of its own."""
    if dask is None:
        with parallel_config("threading", n_jobs=jobs):
            yield
        return
    try:
        from distributed import Client

        client = Client(dask, timeout=CONNECT)
    except ImportError:
        raise ValueError("--dask needs the package distributed: pip install 'hypermargin[cluster]'") from None
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(f"no Dask scheduler answers at {dask!r} ({type(error).__name__})") from error
    with client, parallel_config("dask", client=client):
        yield


def describe_environment() -> dict[str, str]:
    """Versions, processor and commit, in the order a reader wants them."""
    processors = [platform.processor() or "unknown"]
    with suppress(OSError):
        cpus = Path("/proc/cpuinfo").read_text().splitlines()
        processors = [line.partition(":")[2].strip() for line in cpus if line.startswith("model name")] or processors
    described = {"hypermargin": __version__, "commit": commit()}
    described |= {"date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "Python": platform.python_version()}
    described["system"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    described["processor"] = processors[0]
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            described[package] = version(package)
    return described


def check_device(device: str) -> None:
    """A `ValueError` that says what is wrong where PyTorch cannot work on `device`."""
    try:
        import torch

        torch.zeros(1, device=device)
    except ImportError:
        raise ValueError("--device needs PyTorch: pip install 'hypermargin[gpu]'") from None
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"PyTorch cannot use the device {device!r} ({str(error).splitlines()[0]})") from None


def commit() -> str:
    """The commit of the checkout this package runs from, "+" where files differ from it; "unknown" elsewhere."""
    git = ("git", "-C", str(Path(__file__).parents[2]))  # the folder of this package and the library
    how: dict[str, Any] = {"capture_output": True, "text": True, "check": True, "timeout": 10}
    with suppress(OSError, subprocess.SubprocessError):
        number = subprocess.run((*git, "rev-parse", "--short=12", "HEAD"), **how).stdout.strip()
        changed = subprocess.run((*git, "status", "--porcelain", "--untracked-files=no", "--", "."), **how)
        return number + "+" * bool(changed.stdout.strip())
    return "unknown"
