"""`hypermargin score`: a solver of yours on the public problem set, judged by recomputed gap and time."""

import argparse
import csv
from collections import Counter
from collections.abc import Sequence
from textwrap import indent
from typing import TYPE_CHECKING

from hypermargin.cli.console import CommandError, check_output, say, show_table, warn, with_progress
from hypermargin_studies.commands import HELP, check_limits

if TYPE_CHECKING:
    from hypermargin_studies.problem_set.scoring import Score, Verdict

EXAMPLES = HELP["score"].format(solver=indent(HELP["solver"], " " * 10))
CLOSE = 1e-3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("solver", nargs="?", help="a Python file with solve(X, y, C) -> w, or the name of a method")
    parser.add_argument("--loss", choices=("hinge", "asinh"), default="hinge", help="the objective (%(default)s)")
    parser.add_argument(
        "--planted", action="store_true", help="problems with planted optima, on which every claim is judged"
    )
    parser.add_argument("--problems", metavar="PATTERN", help="names to take, for example 'paul/ovr/*,karate/*'")
    parser.add_argument("--all", action="store_true", help="take in the two large data sets (330 problems) as well")
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="a problem (%(default)s)")
    parser.add_argument("--output", "-o", metavar="FILE", help="every score as a .csv")
    parser.add_argument("--example", action="store_true", help="print a solver that can be scored, to start from")
    parser.add_argument("--list", action="store_true", help="print names and certified optima, run nothing")


def run(args: argparse.Namespace) -> None:
    from hypermargin_studies.problem_set import certified_optima, select, selected
    from hypermargin_studies.problem_set.planted import planted, planted_names
    from hypermargin_studies.problem_set.scoring import score_planted, score_solver

    if args.example:
        print(HELP["solver"], end="")
        return
    if args.planted:
        names = selected(planted_names(), args.problems or "*")
    else:
        names = select(args.problems, args.all or args.list, args.loss)
    if not names:
        raise CommandError(f"no problem matches {args.problems!r}; `hypermargin score --list` shows the names")
    if args.list:
        for name in names:
            optimum = planted(name) if args.planted else certified_optima(args.loss)[name]
            say(f"{name}  {optimum.lower:.10g} <= f* <= {optimum.upper:.10g}")
        return
    if args.solver is None:
        raise CommandError("name a Python file with solve(X, y, C) -> w, or a method; see `hypermargin score --help`")
    check_limits(args.time_limit)
    output = None if args.output is None else check_output(args.output, (".csv",))
    if args.planted:
        verdicts = score_planted(args.solver, names, args.time_limit)
        lines = _show_planted(args.solver, [next(verdicts) for _ in with_progress(names, "scoring")])
    else:
        scores = score_solver(args.solver, names, args.time_limit, args.loss)
        lines = _show(args.solver, [next(scores) for _ in with_progress(names, "scoring")])
    if output is not None:
        with output.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(lines)
        say(f"wrote {output}")


def _show_planted(solver: str, verdicts: Sequence["Verdict"]) -> list[tuple]:
    """Counts of words by family, and the first false ones; returns the lines of the .csv."""
    from hypermargin_studies.problem_set.scoring import POINTS

    rows = []
    for family, own in _by_head(verdicts).items():
        counts, points = Counter(v.word for v in own), sum(v.points for v in own)
        rows.append((family, *map(str, (len(own), *(counts[word] for word in POINTS), points))))
    caption = ", ".join(f"{word} {points:+d}" for word, points in POINTS.items() if points)
    show_table(f"{solver}: claims on planted problems", ("family", "problems", *POINTS, "points"), rows, caption)
    for verdict in [verdict for verdict in verdicts if verdict.word == "FALSE"][:5]:
        warn(f"{verdict.name}: {verdict.sentence}")
    return [("problem", "word", "points", "sentence"), *((v.name, v.word, v.points, v.sentence) for v in verdicts)]


def _show(solver: str, scores: Sequence["Score"]) -> list[tuple]:
    """Gaps by data set, and what went wrong; returns the lines of the .csv."""
    from hypermargin_studies.problem_set.scoring import sign_hint

    groups = _by_head(scores)
    if len(groups) == 2:
        del groups["all"]  # the same as the one data set
    columns = ("data", "problems", "answered", "within 1e-3", "within 1e-6", "median gap", "worst gap", "seconds")
    caption = "Gap: (objective - certified lower bound)/objective, recomputed from the data."
    caption += " Seconds: in total, of what was answered."
    show_table(f"{solver}: {len(scores)} problems", columns, [_row(*group) for group in groups.items()], caption)
    troubles = Counter(score.trouble for score in scores if score.trouble)
    for trouble, count in troubles.most_common(5):
        say(f"{count} without an answer: {trouble}")
    if hint := sign_hint(scores):
        warn(hint)
    lines = ((s.name, s.objective, s.gap, s.seconds, s.trouble) for s in scores)
    return [("problem", "objective", "gap", "seconds", "trouble"), *lines]


def _by_head(found: Sequence) -> dict[str, list]:
    """Scores by data set or family, the head of their names, and all of them."""
    groups: dict[str, list] = {}
    for one in found:
        groups.setdefault(one.name.split("/")[0], []).append(one)
    return {**groups, "all": list(found)}


def _row(label: str, scores: Sequence["Score"]) -> tuple[str, ...]:
    gaps = sorted(score.gap for score in scores)
    counts = [
        len(scores),
        sum(not s.trouble for s in scores),
        *(sum(gap <= most for gap in gaps) for most in (CLOSE, 1e-6)),
    ]
    middle_and_worst = (f"{gap:.1e}" if gap < float("inf") else "–" for gap in (gaps[len(gaps) // 2], gaps[-1]))
    seconds = sum(score.seconds for score in scores if score.seconds == score.seconds)  # NaN without an answer
    return (label, *map(str, counts), *middle_and_worst, f"{seconds:.2f}")
