"""The checker as a program: a certificate file and a table of points in, a verdict out.

python -m hypermargin.check proof.json points.csv
python -m hypermargin.check --copy check.pyz      one file for another machine: python check.pyz proof.json points.csv
"""

import argparse
import csv
import json
import math
import re
import sys
import zipapp
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory
from typing import Any

from flint import arb

from . import check
from .exact import Problem, Refused, digits, dot, entry

#: A certificate file of more bytes is not read.
MOST_BYTES = 2**28


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0 if the certificate holds, 1 if not, 2 if a file could not be read."""
    parser = argparse.ArgumentParser(prog="hypermargin.check", description="Check a certificate in exact arithmetic.")
    parser.add_argument("proof", nargs="?", type=Path, help="a certificate file")
    parser.add_argument(
        "points", nargs="?", type=Path, help="a CSV file: coordinates, and the class in the last column"
    )
    parser.add_argument(
        "--geometry", default="lorentz", choices=[*SPACE], help="what the coordinates are (%(default)s)"
    )
    parser.add_argument("--curvature", type=float, default=1.0, help="c of the curvature -c (%(default)s)")
    parser.add_argument("--label", metavar="COLUMN", help="the column of the classes (default: the last one)")
    parser.add_argument("--weight", metavar="COLUMN", help="the column of sample weights")
    parser.add_argument("--copy", type=Path, metavar="FILE", help="write this program into one file that runs anywhere")
    options = parser.parse_args(arguments)
    if options.copy:
        copy_to(options.copy)
        print(f"wrote {options.copy}; it needs Python and python-flint: python {options.copy} proof.json points.csv")
        return 0
    if options.proof is None or options.points is None:
        parser.error("give a certificate file and a file of points")
    try:
        certificate = read_certificate(options.proof)
        space, labels, weight = read_points(options)
        name, bound, problem = best_verdict(certificate, space, labels, weight)
    except (OSError, UnicodeDecodeError, Refused) as error:
        print(f"hypermargin.check: {error}", file=sys.stderr)
        return 2
    stated = certificate.get("statement") or {}
    if isinstance(bound, Refused):
        print(f"{options.proof} proves nothing about {options.points}: {bound}")
        return 1
    what = "nothing separates the classes" if bound == math.inf else f"lower bound  {bound!r}"
    print(f"{options.proof}: holds for {options.points}, {name}, C = {problem.C:g}\n{what}")
    if isinstance(stated.get("bound"), float) and bound < stated["bound"] - 1e-9 * abs(stated["bound"]):
        print(f"which is less than it states: {stated['bound']!r}")
        return 1
    return 0


def copy_to(path: Path) -> None:
    """This package as one file that Python runs."""
    with TemporaryDirectory() as folder:
        copytree(Path(__file__).parent, Path(folder) / "reference", ignore=ignore_patterns("__pycache__"))
        start = "import sys\nfrom reference.files import main\n\nsys.exit(main())\n"
        (Path(folder) / "__main__.py").write_text(start, encoding="utf-8")
        zipapp.create_archive(folder, path)


def read_certificate(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MOST_BYTES:
        raise Refused(f"{path} has more than {MOST_BYTES:,} bytes")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is not a certificate: {error}") from error
    if not isinstance(data, dict):
        raise Refused(f"{path} is not a certificate")
    return data


def read_points(options: argparse.Namespace) -> tuple[list[list[float]], list[str], list[float] | None]:
    """Space coordinates, classes and weights of a table; a first row that holds no numbers is a header."""
    with options.points.open(newline="", encoding="utf-8-sig") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(cell.strip() for cell in row)]
    if not rows:
        raise Refused(f"{options.points} is empty")
    header = rows.pop(0) if not any(map(_is_number, rows[0])) else [str(k) for k in range(1, len(rows[0]) + 1)]
    width, places = len(header), {name: k for k, name in enumerate(header)}
    for name in (options.label, options.weight):
        if name is not None and name not in places:
            raise Refused(f"{options.points} has no column {name!r}; its columns are {', '.join(header)}")
    label = width - 1 if options.label is None else places[options.label]
    weight = None if options.weight is None else places[options.weight]
    coordinates = [k for k in range(width) if k not in (label, weight)]
    for count, row in enumerate(rows, start=1):
        if len(row) != width or not all(_is_number(row[k]) for k in range(width) if k != label):
            raise Refused(f"row {count} of {options.points} does not hold {width - 1} numbers and a class")
    with digits(256):
        space = [_to_space(options, [float(row[k]) for k in coordinates]) for row in rows]
    return space, [row[label] for row in rows], None if weight is None else [float(row[weight]) for row in rows]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


#: From coordinates p, the square root s of c and ``s |p|`` to the space part of the unit hyperboloid.
SPACE = {
    "lorentz": lambda p, s, size: [s * v for v in p[1:]],
    "hyperboloid": lambda p, s, size: [s * v for v in p],
    "poincare": lambda p, s, size: [2 * s * v / (1 - size * size) for v in p],
    "klein": lambda p, s, size: [s * v / (1 - size * size).sqrt() for v in p],
    "tangent": lambda p, s, size: [s * v * (size.sinh() / size if size > 0 else 1) for v in p],
}


def _to_space(options: argparse.Namespace, row: list[float]) -> list[float]:
    """The doubles nearest to the exact space coordinates."""
    p, scale = [arb(v) for v in row], arb(options.curvature).sqrt()
    size = scale * dot(p, p).sqrt()
    if options.geometry in ("poincare", "klein") and not size < 1:
        raise Refused(f"a point does not lie within the {options.geometry} ball")
    return [float(v.mid()) for v in SPACE[options.geometry](p, scale, size)]


# -- the binary problems that a table may stand for -------------------------------------------------------------------


def best_verdict(
    certificate: dict[str, Any], space: list[list[float]], labels: list[str], weight: list[float] | None
) -> tuple[str, float | Refused, Problem]:
    """The binary problem of the data about which the certificate proves most, and what it proves or why nothing.

    What a certificate states about itself says where to look, and is no part of what is proved.
    """
    stated = entry(certificate, "statement")
    C, wished = stated.get("C"), stated.get("bound")
    C = math.inf if C == "inf" else C
    if isinstance(C, bool) or not isinstance(C, int | float):
        raise Refused("the certificate does not state the C of its problem")
    best: tuple[str, float | Refused, Problem] | None = None
    for name, own_space, y, own_weight in _binary_problems(space, labels, weight):
        if len(y) != stated.get("n_samples"):
            continue
        noise = _uncertainty(stated.get("uncertainty"), len(y))
        problem = Problem(own_space, y, float(C), own_weight, noise, stated.get("allow_timelike") is True)
        found: float | Refused
        try:
            found = check(certificate, problem)
        except Refused as error:
            found = error
        worth = -math.inf if isinstance(found, Refused) else found
        if best is None or worth > (-math.inf if isinstance(best[1], Refused) else best[1]):
            best = name, found, problem
        if isinstance(wished, float) and worth >= wished * (1.0 - 1e-9):
            break
    if best is None:
        raise Refused(f"no two classes of the points make the {stated.get('n_samples')} samples that it is about")
    return best


def _binary_problems(space: Any, labels: list[str], weight: Any) -> Iterator[tuple[str, Any, list[int], Any]]:
    """Pairs of classes, and one class against the rest, both ways round; samples as given and in the classifiers'
    order."""
    classes = sorted(set(labels), key=lambda text: (float(text) if _is_number(text) else math.inf, text))
    sides = [({b}, {a}) for a, b in combinations(classes, 2)]
    sides += [({a}, set(classes) - {a}) for a in classes] if len(classes) > 2 else []
    for ahead, behind in [*sides, *((b, a) for a, b in sides)]:
        rows = [i for i, label in enumerate(labels) if label in ahead or label in behind]
        name = f"{'/'.join(sorted(ahead))} against {'/'.join(sorted(behind)) if len(behind) < 3 else 'the rest'}"
        y = [1 if labels[i] in ahead else -1 for i in rows]
        own = None if weight is None else [weight[i] for i in rows]
        yield name, [space[i] for i in rows], y, own
        yield name, *_in_order([space[i] for i in rows], [classes.index(labels[i]) for i in rows], y, own)


def _in_order(space: Any, places: list[int], y: list[int], weight: Any) -> tuple[Any, list[int], Any]:
    """Samples by class and then by a number made of their coordinates; equal ones are one with their weights added."""
    key = [sum(math.cos(1.0 + j * j) * v for j, v in enumerate(row)) for row in space]
    order = sorted(range(len(y)), key=lambda i: (places[i], key[i]))
    merged: list[tuple[Any, int, float]] = []
    for i in order:
        own = 1.0 if weight is None else weight[i]
        if merged and (merged[-1][0], merged[-1][1]) == (space[i], y[i]):
            merged[-1] = (space[i], y[i], merged[-1][2] + own)
        else:
            merged.append((space[i], y[i], own))
    plain = weight is None and len(merged) == len(y)
    return [row for row, *_ in merged], [side for _, side, _ in merged], None if plain else [v for *_, v in merged]


def _uncertainty(text: Any, n: int) -> dict[str, Any] | None:
    """The set of a statement such as ``GeodesicBall(rho=0.1)``."""
    if text is None:
        return None
    found = re.fullmatch(r"(\w+)\(rho=([^,()]+)\)", text) if isinstance(text, str) else None
    if not found or not _is_number(found[2]):
        raise Refused(f"the uncertainty set {text!r:.80} is not one of a single size; use the library to check it")
    return {"set": found[1], "rho": [float(found[2])] * n}


if __name__ == "__main__":
    sys.exit(main())
