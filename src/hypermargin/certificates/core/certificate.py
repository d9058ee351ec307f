"""What all certificates share: a statement, a check against the problem it names, and a file format."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.core.plain import from_keyed, keyed
from hypermargin.certificates.core.statement import Problem, Statement
from hypermargin.safe_io import FileError, read_json, reason

#: What may be wrong where a proof names samples by their rows.
OTHER_ORDER = (
    "; it names samples by their rows, so if it was made for these samples, give them in the order that they had"
)

_FORMATS: dict[str, type["Certificate"]] = {}


class CertificateError(ValueError):
    """The certificate is damaged, or does not belong to the problem it is checked against."""


class CertificateFileError(CertificateError, FileError):
    """A file that should hold a certificate does not; the message begins with its name."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The classifier ``x -> sign(x * (w + w_low) + intercept)``; the sum of the two vectors is meant exactly."""

    KEYED: ClassVar = frozenset({"w_low", "intercept"})

    w: Array
    w_low: Array | None = None
    intercept: float = 0.0

    def require_for(self, problem: Problem) -> None:
        for vector in (self.w,) if self.w_low is None else (self.w, self.w_low):
            if vector.shape != (problem.dim + 1,):
                raise CertificateError(f"the answer of the certificate is not for dimension {problem.dim}")
            if not (np.isfinite(vector).all() and math.isfinite(self.intercept)):
                raise CertificateError("the answer of the certificate holds numbers that are not finite")


#: Samples that the reference checker takes some seconds for: it looks at a few hundred in a second.
MOST_FOR_REFERENCE = 2_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate(ABC):
    """Base of certificates. `Certificate.load` reads any of them, `load` of a subclass those of its kind.

    A certificate is a proof (what a subclass holds), a `statement` of what is proved, about which problem, and the
    `answer` whose objective the bound is to be compared with. Those that were just made, and files of old, have no
    statement and no answer; a solver's certificate is given both with its `Solution`. Proofs that there is no answer
    have none, and neither have those that are one themselves (`IS_ANSWER`).
    """

    FORMAT: ClassVar[str]
    #: What a certificate of this kind proves, as a clause.
    PROVES: ClassVar[str]
    #: The loss whose objective it bounds.
    LOSS: ClassVar[str] = "hinge"
    #: Whether the proof itself is the answer, as the coefficients of a kernel classifier are.
    IS_ANSWER: ClassVar[bool] = False
    #: Fields that files hold only where they are not the default (see `plain`).
    KEYED: ClassVar = frozenset({"statement", "answer"})

    statement: Statement | None = None
    answer: Answer | None = None

    def __init_subclass__(cls) -> None:
        _FORMATS[cls.FORMAT] = cls

    def verify(self, problem: Problem, *, by_arb: bool = False) -> float:
        """A rigorous lower bound for the objective of the problem that the certificate states.

        A `CertificateError` says what is wrong: `problem` is another one than the certificate states, the proof does
        not hold, it proves less than is stated, or its answer has a larger objective than is stated. The reference
        checker, which shares no code with the fast one and does everything in Arb, is slower and the definition of what
        is valid: it decides with `by_arb`, and where doubles prove less than is stated of a problem that is not large.
        """
        self.require_about(problem)
        bound = self.bound_for(problem, by_arb=by_arb)
        contradiction = None
        if self.statement is not None:
            contradiction = self.statement.contradiction(bound, self.objective_for(problem, by_arb=by_arb))
        if contradiction is not None:
            if not by_arb and problem.n_samples <= MOST_FOR_REFERENCE:
                with suppress(CertificateError):
                    return self.verify(problem, by_arb=True)
            order = OTHER_ORDER if self.goes_by_row else ""
            raise CertificateError(f"the certificate does not hold what it states: {contradiction}{order}")
        return bound

    @property
    def goes_by_row(self) -> bool:
        """Whether the proof names samples by their rows, so that it is one for this order of the samples only.

        Fingerprints do not depend on the order, so that a statement about the same samples in another one fits.
        """
        return False

    def require_about(self, problem: Problem) -> None:
        """Raise a `CertificateError` that says what differs where the certificate states another problem."""
        if self.statement is None:
            return
        if self.statement.loss != self.LOSS:
            raise CertificateError(
                f"the certificate states a bound for the {self.statement.loss} loss; "
                f"this kind of proof is for the {self.LOSS} loss"
            )
        differences = self.statement.differences(problem)
        if differences:
            raise CertificateError(
                f"the certificate is about another problem: {'; '.join(differences)} "
                "(`bound_for` returns what it proves all the same)"
            )

    def bound_for(self, problem: Any, *, by_arb: bool = False) -> float:
        """What the proof is worth for any problem, whatever the certificate states: a rigorous lower bound.

        The cuts of a soft margin hold for every C and for similar data, so a bound for one problem may be a good one
        for another; it may as well be 0. A `CertificateError` if the proof is none for such a problem, or damaged.
        """
        with _damage_named():
            return REFERENCE["bound"](self, problem) if by_arb else self._bound(problem)

    def objective_for(self, problem: Any, *, by_arb: bool = False) -> float | None:
        """The objective of the answer in the certificate, from above, recomputed from the data; None if it has none.

        Infinite where the answer is not feasible. That of an asinh loss is always computed by the reference checker.
        """
        if self.answer is None and not self.IS_ANSWER:
            return None
        with _damage_named():
            if self.answer is not None:
                self.answer.require_for(problem)
            return REFERENCE["objective"](self, problem) if by_arb else self._objective(problem)

    @abstractmethod
    def _bound(self, problem: Any) -> float:
        """`bound_for` by the fast check of this kind."""

    def _objective(self, problem: Any) -> float:
        """`objective_for` by the fast code of this kind; that of the reference checker where there is no other."""
        return REFERENCE["objective"](self, problem)

    def holds(self, problem: Problem) -> bool:
        """Whether `verify` accepts the certificate for `problem`."""
        try:
            self.verify(problem)
        except CertificateError:
            return False
        return True

    def stating(
        self, problem: Problem, *, loss: str, objective: float, bound: float | None, answer: Answer | None = None
    ) -> Self:
        """The certificate with a statement about `problem`; `bound` is what a check of it proved, if there was one.

        The answer has the stated objective; one that is not feasible is left out.
        """
        kept = None if self.IS_ANSWER or not math.isfinite(objective) else answer
        statement = Statement.about(problem, loss=loss, objective=objective, bound=bound)
        return replace(self, statement=statement, answer=kept)

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; may raise what damaged data raises."""
        return from_keyed(cls, data)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers; floats survive JSON exactly."""
        return {"format": self.FORMAT, **keyed(self)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; a `CertificateError` says what is wrong with `data`."""
        kind = _FORMATS.get(str(data.get("format"))) if isinstance(data, dict) else None
        if kind is None or not issubclass(kind, cls):
            known = sorted(name for name, other in _FORMATS.items() if issubclass(other, cls))
            raise CertificateError(f"this is not a certificate in the format {' or '.join(known)}")
        try:
            return kind._from_content(data)
        except CertificateError:
            raise
        except Exception as error:  # whatever it is, the content of `data` has raised it
            raise CertificateError(f"the certificate is damaged: {reason(error)}") from error

    to_plain, from_plain = to_dict, from_dict  # for certificates within others

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        Path(path).write_text(json.dumps(self.to_dict()), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a certificate written by `save`; a `FileError` names the file and what is wrong with it."""
        data = read_json(path, "is not a certificate file, which is text in JSON", CertificateFileError)
        try:
            return cls.from_dict(data)
        except CertificateError as error:
            raise CertificateFileError(f"{path}: {error}") from error


@contextmanager
def _damage_named() -> Iterator[None]:
    """What a check of a damaged certificate may raise becomes a `CertificateError`."""
    try:
        yield
    except CertificateError:
        raise
    except (ArithmeticError, BufferError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise CertificateError(f"the certificate is damaged: {reason(error)}") from error


#: What `by_arb` calls: functions of a certificate and a problem for the "bound" and for the "objective" of the answer.
REFERENCE: dict[str, Callable[["Certificate", Any], float]] = {}


def require_hard_margin(problem: Problem) -> None:
    """Refuse soft margins: every w satisfies them at some cost, and a statement about separators does not bound it."""
    if not math.isinf(problem.C):
        raise CertificateError("this certificate is for the hard margin; the problem has a soft margin")
