"""`hypermargin score`: a solver of yours on the public problem set, judged by recomputed gap and time."""

import argparse
import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from hypermargin.cli.console import CommandError, check_output, say, show_table, warn, with_progress

if TYPE_CHECKING:
    from hypermargin_studies.problem_set.scoring import Score

EXAMPLE_SOLVER = """import numpy as np


def solve(X, y, C):  # Lorentz points (n, 3) with x0 first, labels -1 and +1, a positive number
    between = X[y < 0, 1:].mean(axis=0) - X[y > 0, 1:].mean(axis=0)
    w = np.array([0.0, *between])  # shape (3,), with q(w) >= 0
    return min((scale * w for scale in np.logspace(-3, 3, 61)), key=lambda w: objective(w, X, y, C))


def objective(w, X, y, C):
    product = X[:, 0] * w[0] - X[:, 1:] @ w[1:]  # x * w, one number per point: positive predicts +1
    hinge = np.maximum(0.0, 1.0 - y * product) / np.sqrt(2.0)
    return (w[1:] @ w[1:] - w[0] ** 2) / 2.0 + C * hinge.sum()
"""
EXAMPLES = f"""examples:
  hypermargin score my_solver.py
      my_solver.py holds a function solve(X, y, C) that returns the normal w. It is to minimise
          f(w) = q(w)/2 + C sum_i max(0, 1 - y_i (x_i * w))/sqrt(2)    over q(w) >= 0,
      with x * w = x0 w0 - x1 w1 - x2 w2 and q(w) = w1^2 + w2^2 - w0^2. A point is predicted +1 where x * w > 0.
      A solver that runs (`hypermargin score --example > my_solver.py` writes it to a file):

{indent(EXAMPLE_SOLVER, " " * 10)}
  hypermargin score my_solver.py --problems 'paul/ovr/*'
  hypermargin score exact
      a method of this package instead of a file
  hypermargin score my_solver.py --loss asinh
      the original objective, with asinh(1) - asinh(m_i(w)) instead of (1 - m_i(w))/sqrt(2)
  hypermargin score --list
      the names of all problems with their certified optima
  hypermargin score my_solver.py --planted
      problems built around their optimum, of every kind and made to be hard to get right. `solve` may return a dict
      with w, lower_bound, objective and status (OPTIMAL, INFEASIBLE or another word), and may have the parameters
      sample_weight, uncertainty, kernel, centre, loss and allow_timelike; without them it is not asked about such
      problems. A right proof is worth 2 points, a good w 1, a false word -32
"""
CLOSE = 1e-3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("solver", nargs="?", help="a Python file with solve(X, y, C) -> w, or the name of a method")
    parser.add_argument("--loss", choices=("hinge", "asinh"), default="hinge", help="the objective (%(default)s)")
    parser.add_argument("--planted", action="store_true", help="problems with planted optima: every word is judged")
    parser.add_argument("--problems", metavar="PATTERN", help="names to take, for example 'paul/ovr/*,karate/*'")
    parser.add_argument("--all", action="store_true", help="take in the two large data sets (330 problems) as well")
    parser.add_argument("--time-limit", type=float, default=60.0, metavar="SECONDS", help="a problem (%(default)s)")
    parser.add_argument("--output", "-o", metavar="FILE", help="every score as a .csv")
    parser.add_argument("--example", action="store_true", help="print a solver that can be scored, to start from")
    parser.add_argument("--list", action="store_true", help="print names and certified optima, run nothing")


def run(args: argparse.Namespace) -> None:
    from hypermargin_studies.problem_set import certified_optima, select, selected
    from hypermargin_studies.problem_set.planted import planted, planted_names
    from hypermargin_studies.problem_set.scoring import score_planted, score_solver, sign_hint

    if args.example:
        print(EXAMPLE_SOLVER, end="")
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
    if not args.time_limit > 0.0:
        raise CommandError(f"--time-limit must be positive, got {args.time_limit:g}")
    output = None if args.output is None else check_output(args.output, (".csv",))
    if args.planted:
        verdicts = score_planted(args.solver, names, args.time_limit)
        found = [next(verdicts) for _ in with_progress(names, "scoring")]
        rows = [(v.name, v.word, v.points, v.sentence) for v in found]
        _show_planted(args.solver, rows)
        _write(output, ("problem", "word", "points", "sentence"), rows)
        return
    scores = []
    judged = score_solver(args.solver, names, args.time_limit, args.loss)
    for _ in with_progress(names, "scoring"):
        scores.append(next(judged))
    _show(args.solver, scores)
    hint = sign_hint(scores)
    if hint is not None:
        warn(hint)
    columns = ("problem", "objective", "gap", "seconds", "trouble")
    _write(output, columns, [(s.name, s.objective, s.gap, s.seconds, s.trouble) for s in scores])


def _write(output: Path | None, columns: Sequence[str], rows: Sequence[tuple]) -> None:
    if output is None:
        return
    with output.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    say(f"wrote {output}")


def _show_planted(solver: str, rows: Sequence[tuple]) -> None:
    """Counts of words by family, and the first false ones."""
    from hypermargin_studies.problem_set.scoring import POINTS

    families = list(dict.fromkeys(row[0].split("/")[0] for row in rows))
    table = []
    for family in (*families, "all"):
        own = [row for row in rows if family in ("all", row[0].split("/")[0])]
        counts = Counter(row[1] for row in own)
        table.append((family, str(len(own)), *(str(counts[word]) for word in POINTS), str(sum(row[2] for row in own))))
    caption = ", ".join(f"{word} {points:+d}" for word, points in POINTS.items() if points)
    show_table(f"{solver}: words on planted problems", ("family", "problems", *POINTS, "points"), table, caption)
    for name, _, _, sentence in [row for row in rows if row[1] == "FALSE"][:5]:
        warn(f"{name}: {sentence}")


def _show(solver: str, scores: Sequence["Score"]) -> None:
    rows = [_row(dataset, [s for s in scores if s.name.split("/")[0] == dataset]) for dataset in _datasets(scores)]
    if len(rows) > 1:
        rows.append(_row("all", scores))
    show_table(
        f"{solver}: {len(scores)} problems",
        ("data", "problems", "answered", "within 1e-3", "within 1e-6", "median gap", "worst gap", "seconds"),
        rows,
        caption="Gap: (objective - certified lower bound)/objective, recomputed from the data. Seconds: in total, of "
        "what was answered.",
    )
    troubles = Counter(score.trouble for score in scores if score.trouble)
    for trouble, count in troubles.most_common(5):
        say(f"{count} without an answer: {trouble}")


def _datasets(scores: Sequence["Score"]) -> list[str]:
    return list(dict.fromkeys(score.name.split("/")[0] for score in scores))


def _row(label: str, scores: Sequence["Score"]) -> tuple[str, ...]:
    import numpy as np

    gaps = np.array([score.gap for score in scores])
    seconds = float(np.nansum([score.seconds for score in scores]))
    return (
        label,
        str(len(scores)),
        str(sum(not score.trouble for score in scores)),
        str(int(np.sum(gaps <= CLOSE))),
        str(int(np.sum(gaps <= 1e-6))),
        _number(float(np.quantile(gaps, 0.5, method="higher"))),
        _number(float(gaps.max())),
        f"{seconds:.2f}",
    )


def _number(gap: float) -> str:
    return f"{gap:.1e}" if gap < float("inf") else "–"
