"""Results as files: one per cell of a measurement, written when it finishes, so that no interrupted run loses any."""

import json
import os
from pathlib import Path
from typing import Any


class Records:
    """A folder of JSON files named by the keys of cells; each holds a dict with at least the entry "state"."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def read(self, key: str) -> dict[str, Any] | None:
        """The record of a key; None where there is none, or only a damaged one."""
        try:
            record = json.loads(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and "state" in record else None

    def write(self, key: str, record: dict[str, Any]) -> None:
        """Put a record in place in one step, so that no reader ever sees half of it."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        unfinished.write_text(json.dumps(record), encoding="utf-8")
        os.replace(unfinished, path)
