"""What all certificates share: they are checked against a problem, and kept as JSON that names its format."""

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from hypermargin.problems.margin import MarginProblem

_FORMATS: dict[str, type["Certificate"]] = {}


class CertificateError(ValueError):
    """The certificate is damaged, or does not belong to the problem it is checked against."""


class Certificate(ABC):
    """Base of certificates. `Certificate.load` reads any of them, `load` of a subclass those of its kind."""

    FORMAT: ClassVar[str]

    def __init_subclass__(cls) -> None:
        _FORMATS[cls.FORMAT] = cls

    @abstractmethod
    def verify(self, problem: MarginProblem, *, by_arb: bool = False) -> float:
        """A rigorous lower bound for the objective of `problem`, or a `CertificateError`."""

    def holds(self, problem: MarginProblem) -> bool:
        """Whether `verify` accepts the certificate for `problem`."""
        try:
            self.verify(problem)
        except CertificateError:
            return False
        return True

    @abstractmethod
    def _content(self) -> dict[str, Any]:
        """Plain lists and numbers."""

    @classmethod
    @abstractmethod
    def _from_content(cls, data: dict[str, Any]) -> Self:
        """The inverse of `_content`; may raise what damaged data raises."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers; floats survive JSON exactly."""
        return {"format": self.FORMAT, **self._content()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; a `CertificateError` says what is wrong with `data`."""
        kind = _FORMATS.get(str(data.get("format"))) if isinstance(data, dict) else None
        if kind is None or not issubclass(kind, cls):
            known = sorted(name for name, other in _FORMATS.items() if issubclass(other, cls))
            raise CertificateError(f"this is not a certificate in the format {' or '.join(known)}")
        try:
            return kind._from_content(data)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CertificateError(f"the certificate is damaged: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        Path(path).write_text(json.dumps(self.to_dict()), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a certificate written by `save`."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise CertificateError(f"{path} is not a certificate file: {error}") from error
        return cls.from_dict(data)
