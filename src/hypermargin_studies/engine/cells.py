"""Cells, the parts of a study that are run and kept one by one, and the folder that keeps their records."""

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

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
        try:
            record = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and "state" in record else None

    def write(self, cell: Cell, record: Record) -> None:
        """Put the record in place in one step, so that no reader ever sees half of it."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        unfinished.write_text(json.dumps({"cell": cell.to_dict(), **record}), encoding="utf-8")
        os.replace(unfinished, path)

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
