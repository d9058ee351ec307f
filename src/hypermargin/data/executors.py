"""The protocol of all data passes: samples lie in pieces, and a question is put to every piece where it lies.

A piece is a `MarginProblem` of NumPy arrays or a `DeviceSamples` of any other library; who asks knows what to do with
either. Sums over samples are sums over pieces, so an answer is a few numbers per piece, whatever the size of the data.

| who asks | question | answer of a piece |
|---|---|---|
| `solvers.exact.blocked_oracle` | the risk and the cut at several w | ``(risk, b, g)`` of each |
| `certificates.core.sums` | the rigorous sums of all cuts | midpoints and error bounds |
| `certificates.core.objective` | the risk at w, enclosed | two sums and the least margin |
| `certificates.core.statement` | which samples are these | fingerprints, which add up |
| `data.blocked_problem` | how many, how far out, around which centre | sums and maxima |
"""

import pickle
import shutil
import sys
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

Question = Callable[..., Any]
#: Items that one pass of `Home.grouped` serves: their answers are in memory at the same time.
ITEMS_A_PASS = 8
#: Data that is read in pieces is kept in memory up to this share of what is free: a fit needs a few copies of it.
SHARE_OF_MEMORY = 0.2
#: Share of the free room of the temporary folder that pieces may take: others write there as well.
SHARE_OF_DISK = 0.5


class BatchPolicy(Enum):
    """Which problems over the samples of a home should put their questions together (`lockstep`)."""

    NEVER = "questions cost no more than the work they ask for"
    SAME_POINTS = "a question has its price, but pieces are kept as a problem changed them"
    ALWAYS = "every question reads the samples anew"


class DataSource(ABC):
    """Pieces of samples, in a fixed order."""

    #: Which problems should put their questions together.
    together: ClassVar["BatchPolicy"] = BatchPolicy.NEVER

    @abstractmethod
    def ask(self, question: Question, *arguments: Any) -> list[Any]:
        """``question(piece, *arguments)`` of every piece, in their order; the function and its answers may travel."""

    @abstractmethod
    def map(self, change: Question, *arguments: Any) -> "DataSource":
        """The home with the pieces ``change(piece, *arguments)``.

        They are made once and kept, where pieces are kept at all.
        """

    def persist(self, to_disk: bool = True) -> "DataSource | None":
        """The same pieces, made once and kept for all questions; None where there is no room for them.

        Pieces that are quick to make again are not worth a file: they say so by ``to_disk=False``.
        """
        return self

    def kept(self) -> "DataSource":
        """The same pieces, kept where there is room for them."""
        return self.persist() or self

    def grouped(
        self, question: Question, finish: Question, items: Sequence[Any], n_jobs: int | None = None
    ) -> list[Any]:
        """``finish([question(piece, item) of every piece], item)`` for every item, in their order.

        Here a pass serves several items, and `finish` runs in `n_jobs` threads; a cluster finishes on its workers.
        """
        from joblib import Parallel, delayed

        done: list[Any] = []
        for start in range(0, len(items), ITEMS_A_PASS):
            some = list(items[start : start + ITEMS_A_PASS])
            answers = self.ask(_of_each, question, some)
            done += Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(finish)([of_piece[k] for of_piece in answers], item) for k, item in enumerate(some)
            )
        return done


class InMemory(DataSource):
    """Pieces in the memory of this process, or of a device that it works on."""

    def __init__(self, pieces: Sequence[Any]):
        self.pieces = list(pieces)

    def ask(self, question: Question, *arguments: Any) -> list[Any]:
        try:
            return [question(piece, *arguments) for piece in self.pieces]
        except Exception as error:  # array libraries have errors of their own for a full device
            if "out of memory" not in str(error).lower() or isinstance(error, MemoryError):
                raise
            cause = str(error).splitlines()[0]
            raise MemoryError(
                f"the memory of the device is too small: {cause} Pass the points in chunks instead, as numpy.memmap or "
                "hypermargin.passes.ArrayChunks(X, rows=...), which are read from the memory of the host"
            ) from error

    def map(self, change: Question, *arguments: Any) -> "InMemory":
        return InMemory(self.ask(change, *arguments))


class OutOfCore(DataSource):
    """Pieces that are read again for every question, one in memory at a time.

    `source` gives a fresh iterator over the same pieces each time; changes are made on the way.
    """

    together = BatchPolicy.ALWAYS

    def __init__(self, source: Iterable[Any], changes: tuple[tuple[Question, tuple[Any, ...]], ...] = ()):
        self.source, self.changes = source, changes

    def ask(self, question: Question, *arguments: Any) -> list[Any]:
        return [question(piece, *arguments) for piece in self._pieces()]

    def persist(self, to_disk: bool = True) -> DataSource | None:
        """In memory as far as that goes, else in files of a temporary folder."""
        kept, room = [], SHARE_OF_MEMORY * free_memory()
        pieces = self._pieces()
        for piece in pieces:
            kept.append(piece)
            room -= sys.getsizeof(piece)
            if room < 0.0:
                break
        else:
            return InMemory(kept)
        if not to_disk and getattr(self.source, "slow_bytes", 0) == 0:
            return None
        spool = DiskCache()
        for piece in chain(kept, pieces):
            if not spool.add(piece):
                return None
        return OutOfCore(spool)

    def _pieces(self) -> Iterator[Any]:
        for piece in self.source:
            for change, given in self.changes:
                piece = change(piece, *given)
            yield piece

    def map(self, change: Question, *arguments: Any) -> "OutOfCore":
        return OutOfCore(self.source, (*self.changes, (change, arguments)))


class DiskCache:
    """Pieces in files of a temporary folder, which goes with this object."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="hypermargin-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._files: list[Path] = []
        self._room = SHARE_OF_DISK * shutil.disk_usage(self._folder).free

    def add(self, piece: Any) -> bool:
        """Write a piece down, unless there is no room for it."""
        self._room -= sys.getsizeof(piece)
        if self._room < 0.0:
            return False
        self._files.append(self._folder / str(len(self._files)))
        with self._files[-1].open("wb") as file:
            pickle.dump(piece, file, protocol=5)
        return True

    def __iter__(self) -> Iterator[Any]:
        for path in self._files:
            with path.open("rb") as file:
                yield pickle.load(file)  # what this process has written itself


def free_memory() -> float:
    """Bytes of memory that are free, infinite where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            facts = dict(line.split(":", 1) for line in file)
        return 1024.0 * float(facts["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return float("inf")


def _of_each(piece: Any, question: Question, items: list[Any]) -> list[Any]:
    return [question(piece, item) for item in items]
