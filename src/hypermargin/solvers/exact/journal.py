"""A journal of passes: an interrupted fit begins again where it stopped.

The search is a function of the answers it gets. So it is enough to write every answer down: a search that begins again
asks the same questions, and gets from the journal what it got from the data. Answers are a few numbers each, and one
file serves all binary problems of a classifier.
"""

import json
import os
from hashlib import sha256
from pathlib import Path

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.fingerprints import fingerprints
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.oracle import Oracle

FORMAT = "hypermargin-passes-1"


class Journal(Oracle):
    """The oracle `oracle` with a memory in the file `path`: a line of JSON per pass, written as soon as it is made.

    Lines name their problem and frame. A last line that was cut off by the interruption is dropped. There is no
    interior-point method, which reads samples, nor passes of the compiled search: neither is written down.
    """

    def __init__(self, path: str | os.PathLike[str], oracle: Oracle, problem: MarginProblem):
        super().__init__(oracle.frame, 1.0)
        self.path, self.oracle, self.cone_cuts = Path(path), oracle, oracle.cone_cuts
        self._name = _name(problem, oracle)
        self._answers = self._read()

    @property
    def work(self) -> int:
        return self.oracle.work

    def check_time(self, cuts: int) -> float:
        return self.oracle.check_time(cuts)

    def __call__(self, w: Array) -> tuple[float, float, Array]:
        key = w.tobytes()
        if key not in self._answers:
            risk, b, g = self._answers[key] = self.oracle(w)
            numbers = {"w": _hexadecimal(w), "cut": _hexadecimal(np.array([risk, b, *g]))}
            self._append({"problem": self._name, **numbers})
        return self._times_factor(*self._answers[key])

    def _read(self) -> dict[bytes, tuple[float, float, Array]]:
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        complete, _, cut_off = text.rpartition("\n")
        lines = complete.splitlines()
        if not lines:
            self.path.write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")
            return {}
        try:
            entries = [json.loads(line) for line in lines]
            if entries[0]["format"] != FORMAT:
                raise ValueError
            known = [entry for entry in entries[1:] if entry["problem"] == self._name]
            cuts = {_numbers(entry["w"]).tobytes(): _numbers(entry["cut"]) for entry in known}
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self.path} is not a journal of passes; name a new file as checkpoint") from error
        if cut_off:
            self.path.write_text(complete + "\n", encoding="utf-8")
        return {w: (float(cut[0]), float(cut[1]), cut[2:]) for w, cut in cuts.items()}

    def _append(self, entry: dict[str, object]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _name(problem: MarginProblem, oracle: Oracle) -> str:
    """A name for the problem in this frame: other samples, weights, sets or another C have another one."""
    frame = oracle.frame
    facts = (fingerprints(problem), problem.C, problem.uncertainty, frame.centre.tolist(), frame.precise)
    if oracle.cone_cuts:
        facts = (*facts, "cone cuts")  # type: ignore[assignment]
    return sha256(repr(facts).encode()).hexdigest()[:16]


def _hexadecimal(values: Array) -> list[str]:
    return [value.hex() for value in values.tolist()]


def _numbers(texts: list[str]) -> Array:
    return np.array([float.fromhex(text) for text in texts])
