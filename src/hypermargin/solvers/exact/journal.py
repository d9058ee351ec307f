"""A journal of passes: an interrupted fit begins again where it stopped.

A search is a function of the cuts it gets. So it is enough to write every cut down: a search that begins again makes
the same passes, and gets their cuts from the journal. A cut is a few numbers, and one file serves all binary problems
of a classifier.
"""

import json
import os
from hashlib import sha256
from pathlib import Path

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.fingerprints import array_fingerprint, fingerprints
from hypermargin.problems.margin import MarginProblem
from hypermargin.safe_io import Damage, FileError, as_file_error, parse_json
from hypermargin.solvers.exact.oracle import Oracle

FORMAT = "hypermargin-passes-1"
HEADER = json.dumps({"format": FORMAT}).encode()


class Journal(Oracle):
    """The oracle `oracle` with a memory in the file `path`: a line of JSON per pass, written as soon as it is made.

    Lines name their problem and frame. A last line that was cut off by the interruption is dropped. There is no
    interior-point method, which reads samples, nor passes of the compiled search: neither is written down.
    """

    def __init__(self, path: str | os.PathLike[str], oracle: Oracle, problem: MarginProblem):
        super().__init__(oracle.frame, 1.0)
        self.path, self.oracle, self.cone_cuts, self.side = Path(path), oracle, oracle.cone_cuts, oracle.side
        self._name = _name(problem, oracle)
        self._answers: dict[bytes, tuple[float, float, Array]] = {}
        if self.path.is_dir():
            raise FileError(f"{self.path} is a folder; name a file as checkpoint")
        content = self.path.read_bytes() if self.path.exists() else b""
        complete, newline, _ = content.rpartition(b"\n")
        if not newline and HEADER.startswith(content):  # a file that is new, or whose first line was cut off
            self.path.write_bytes(HEADER + b"\n")
            return
        with as_file_error(self.path, "is not a journal of passes; name a new file as checkpoint"):
            self._read(complete.split(b"\n"), problem.dim + 1)
        os.truncate(self.path, len(complete) + 1)

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
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"problem": self._name, **numbers}) + "\n")
                file.flush()
                os.fsync(file.fileno())
        return self._times_factor(*self._answers[key])

    def _read(self, lines: list[bytes], width: int) -> None:
        """Take in the answers of this problem, whose points have so many coordinates; `Damage` for other content."""
        if lines[0] != HEADER:
            raise Damage(f"its first line is not {HEADER.decode()}")
        for number, line in enumerate(lines[1:], 2):
            entry = parse_json(line)
            w, cut = (np.array([float.fromhex(text) for text in entry[key]]) for key in ("w", "cut"))
            if entry["problem"] == self._name:
                if w.size != width or cut.size != width + 2:
                    raise Damage(f"line {number} is not a pass in dimension {width - 1}")
                if not np.all(np.isfinite(cut)):
                    raise Damage(f"line {number} holds numbers that are not finite")
                self._answers[w.tobytes()] = float(cut[0]), float(cut[1]), cut[2:]


def _name(problem: MarginProblem, oracle: Oracle) -> str:
    """A name for the problem in this frame: other samples, weights, sets or another C have another one."""
    frame = oracle.frame
    sets: list[object] = [problem.uncertainty]
    if problem.uncertainty is not None and any(map(np.ndim, vars(problem.uncertainty).values())):
        sets = [type(problem.uncertainty).__name__, *problem.map_blocks(_ordered)]
    facts = [fingerprints(problem), problem.C, *sets, frame.centre.tolist(), frame.precise]
    if oracle.cone_cuts:
        facts.append("cone cuts")
    if oracle.side < 0.0:
        facts.append("labels exchanged")
    return sha256(repr(tuple(facts)).encode()).hexdigest()[:16]


def _ordered(piece: MarginProblem) -> list[str]:
    """Fingerprints of samples and sets in their order, which says whose set is whose."""
    return [array_fingerprint(each) for each in (piece.X, piece.y, piece.costs, *vars(piece.uncertainty).values())]


def _hexadecimal(values: Array) -> list[str]:
    return [value.hex() for value in values.tolist()]
