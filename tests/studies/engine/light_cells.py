"""Cells without mathematics, whose workers start at once: they import nothing but the engine."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hypermargin_studies.engine.cells import Cell


@dataclass(frozen=True)
class LightCell(Cell):
    """`action` is what it does; `number` tells cells apart."""

    RESULT: ClassVar[str] = "sum"
    action: str = "add"
    number: int = 0
    seconds: float = 0.0
    kind: str = ""
    uses_devices: bool = False

    def content(self):
        return {"action": self.action, "number": self.number, "kind": self.kind}

    def in_words(self):
        return f"{self.action} {self.number}"

    @property
    def group(self):
        return self.kind or self

    def estimate(self):
        return self.seconds

    def runs_on(self, device):
        return device is not None and self.uses_devices


def run_cell(cell, device=None):
    if cell["action"] == "sleep":
        time.sleep(600.0)
    if cell["action"] == "fail":
        raise ValueError("no\nresult")
    if cell["action"] == "die":
        os._exit(7)
    return [cell["number"] + 1, device]


def touch_and_sleep(path):
    Path(path).touch()
    time.sleep(600.0)
