"""Commands that the studies add to `hypermargin`, one module per command, and what they share."""

import argparse
import tomllib
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from hypermargin.cli.console import CommandError, say, warn

if TYPE_CHECKING:  # what the engine imports takes longer to load than `--help` to answer
    from hypermargin_studies.engine.cells import Cache, Results
    from hypermargin_studies.engine.report import Report

#: Failed parts of a report that are named on the terminal, which has room for a few lines; the report names them all.
MOST_WARNINGS = 5
#: What `--help` shows below the options, by command, and the solver that `score` begins with.
HELP: dict[str, str] = tomllib.loads(files(__name__).joinpath("examples.toml").read_text(encoding="utf-8"))


def add_study_arguments(
    parser: argparse.ArgumentParser, output: str, jobs: int, limit: float | None, meant: str, *, has_page: bool = True
) -> None:
    """Options of commands that run cells and report on them: where, how, and what is done of it."""
    parser.add_argument("--output", "-o", default=output, metavar="FOLDER", help="where results go (%(default)s)")
    parser.add_argument("--jobs", type=int, default=jobs, metavar="N", help="cells at a time (%(default)s)")
    parser.add_argument("--time-limit", type=float, default=limit, metavar="SECONDS", help=f"for one cell{meant}")
    parser.add_argument("--fresh", action="store_true", help="run finished cells again")
    parser.add_argument("--report-only", action="store_true", help="run nothing; report what is finished")
    if has_page:
        pages = "put the findings into this page, and their tables beside it"
        parser.add_argument("--results-page", metavar="FILE", help=pages)


def run_or_report(
    args: argparse.Namespace,
    cells: Sequence[Any],
    cache: "Cache",
    limit: float,
    announce: Callable[["Results", Sequence[Any]], None] | None = None,
    **how: Any,
) -> "Results":
    """Results of all cells: of those that are kept, and, unless only a report is asked for, of the others after a run.

    A line says how many they are, or `announce` does.
    """
    from hypermargin_studies.engine.cells import run_missing

    least, fresh = (0.0, False) if args.report_only else (limit, args.fresh)
    done, missing = cache.split(cells, least, fresh=fresh, device=how.get("device"))
    if announce is not None:
        announce(done, missing)
    else:
        to_measure = 0 if args.report_only else len(missing)
        say(f"{len(cells)} cells, {len(done)} measured before, {to_measure} to measure")
    if args.report_only:
        return cache.whole(done, missing)
    return done + run_missing(missing, cache, jobs=args.jobs, limit=limit, **how)


def names_in(text: str | None, complaint: str, separator: str = ",") -> tuple[str, ...]:
    """The names in the value of an option; none if it was not given, and an error if it has none."""
    names = tuple(name.strip() for name in (text or "").split(separator) if name.strip())
    if text is not None and not names:
        raise CommandError(complaint)
    return names


def chosen(text: str | None, known: Iterable[str], what: str, complaint: str, separator: str = ",") -> tuple[str, ...]:
    """The names in a list, or all there are; an unknown one is an error that lists them."""
    known = tuple(known)
    names = names_in(text, complaint, separator) or known
    for name in names:
        if name not in known:
            raise CommandError(f"unknown {what} {name!r}; there are: {f'{separator} '.join(known)}")
    return names


def numbers_in(text: str | None, option: str, between: str) -> tuple[float, ...]:
    """The numbers in the value of an option."""
    try:
        return tuple(map(float, names_in(text, "no number")))
    except ValueError:
        raise CommandError(f"{option} must be numbers {between}, got {text!r}") from None


def check_limits(limit: float, **counts: int) -> None:
    """A `CommandError` for a time limit that is not positive, or a count below 1; both are named like their options."""
    for name, count in counts.items():
        if count < 1:
            raise CommandError(f"--{name} must be at least 1, got {count}")
    if not limit > 0.0:
        raise CommandError(f"--time-limit must be positive, got {limit:g}")


def warn_of(report: "Report") -> None:
    """Name the parts of a report that could not be made."""
    for name, reason in report.failures[:MOST_WARNINGS]:
        warn(f"{name}: {reason}")
    if report.failures:
        warn(f"{len(report.failures)} parts of the report could not be made; its last section says which, and why")
