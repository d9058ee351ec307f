"""Commands that the studies add to `hypermargin`, one module per command."""

from hypermargin.cli.console import CommandError, warn
from hypermargin_studies.engine.report import Guard

#: Failed parts of a report that are named on the terminal; the report names them all.
MOST_WARNINGS = 5


def names_in(text: str | None, complaint: str, separator: str = ",") -> tuple[str, ...]:
    """The names in the value of an option; none if it was not given, and an error if it has none."""
    names = tuple(name.strip() for name in (text or "").split(separator) if name.strip())
    if text is not None and not names:
        raise CommandError(complaint)
    return names


def warn_of(guard: Guard) -> None:
    """Say which parts of a report could not be made."""
    for name, reason in guard.failures[:MOST_WARNINGS]:
        warn(f"{name}: {reason}")
    if guard.failures:
        warn(f"{len(guard.failures)} parts of the report could not be made; its last section says which, and why")
