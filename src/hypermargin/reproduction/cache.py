"""Results of cells as files: one per cell, written when it finishes, so that an interrupted run loses nothing."""

import json
import os
from pathlib import Path
from typing import Any

from hypermargin.reproduction.cells import Cell

FINISHED, TIMED_OUT, FAILED, SKIPPED, NOT_RUN = "finished", "time limit", "failed", "skipped", "not run"


class Cache:
    """A folder of JSON files named by the cells' keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, cell: Cell) -> Path:
        key = cell.key()
        return self.folder / key[:2] / f"{key}.json"

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """The record of a cell; None where there is none, or only a damaged one."""
        try:
            record = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and "state" in record else None

    def settled(self, cell: Cell, limit: float, device: str | None = None) -> dict[str, Any] | None:
        """The record of a cell that need not be run again: it finished, or was given up with at least as much time.

        What was given up on a processor may still succeed on a device.
        """
        record = self.read(cell)
        if record is None:
            return None
        given_up = record["state"] in (TIMED_OUT, SKIPPED) and record.get("limit", 0.0) >= limit
        return record if record["state"] == FINISHED or (given_up and not cell.runs_on(device)) else None

    def write(self, cell: Cell, record: dict[str, Any]) -> None:
        """Put the record in place in one step, so that no reader ever sees half of it."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        unfinished.write_text(json.dumps({"cell": cell.to_dict(), **record}), encoding="utf-8")
        os.replace(unfinished, path)
