"""Results of cells as files: one per cell, written when it finishes, so that an interrupted run loses nothing."""

from pathlib import Path
from typing import Any

from hypermargin_studies.reproduction.cells import Cell
from hypermargin_studies.workers.records import Records

FINISHED, TIMED_OUT, FAILED, SKIPPED, NOT_RUN = "finished", "time limit", "failed", "skipped", "not run"


class Cache:
    """A folder of records named by the cells' keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._records = Records(folder)

    def path(self, cell: Cell) -> Path:
        return self._records.path(cell.key())

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """The record of a cell; None where there is none, or only a damaged one."""
        return self._records.read(cell.key())

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
        self._records.write(cell.key(), {"cell": cell.to_dict(), **record})
