"""Parts of a report, made one by one: a part that fails costs none of the others."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Guard:
    """Calls what makes the parts of a report, and keeps which of them failed and why."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, str]] = []

    def made(self, name: str, make: Callable[..., T], *arguments: object) -> T | None:
        """What `make` returns; None if it failed."""
        try:
            return make(*arguments)
        except Exception as error:
            self.failures.append((name, f"{type(error).__name__}: {error}"))
            return None
