"""The reference checker as a program: a certificate file and a table of points in, a verdict out.

python -m hypermargin.check proof.json points.csv
python -m hypermargin.check --copy check.pyz      one file for another machine: python check.pyz proof.json points.csv
"""

import argparse
import csv
import json
import math
import re
import struct
import sys
import zipapp
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from tempfile import TemporaryDirectory
from typing import Any

from flint import arb

from . import precision
from .certificates.reference import check, objective
from .certificates.reference.exact import Problem, Refused, dot
from .precision import digits

#: A certificate file of more bytes is not read: it would be some gigabytes in memory.
MOST_BYTES = 2**28
#: A bound below the stated one by less than this share is the stated one: what bounds of doubles lose to rounding.
ROUNDING = 1e-9
#: The same for an objective that is above the stated one: those of the asinh loss are stated in doubles.
OBJECTIVE_ROUNDING = 1e-6
#: From coordinates p, the square root s of c and ``s |p|`` to the space part of the unit hyperboloid.
SPACE = {
    "lorentz": lambda p, s, size: [s * v for v in p[1:]],
    "hyperboloid": lambda p, s, size: [s * v for v in p],
    "lorentz-last": lambda p, s, size: [s * v for v in p[:-1]],
    "polar": lambda p, s, size: [(s * p[0]).sinh() * v for v in ([p[1].cos(), p[1].sin()] if len(p) == 2 else p[1:])],
    "poincare": lambda p, s, size: [2 * s * v / (1 - size * size) for v in p],
    "klein": lambda p, s, size: [s * v / (1 - size * size).sqrt() for v in p],
    "tangent": lambda p, s, size: [s * v * (size.sinh() / size if size > 0 else 1) for v in p],
}
#: Space coordinates, class and weight of a sample.
Sample = tuple[list[float], str, float]


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0 if the certificate holds, 1 if not, 2 if a file could not be read."""
    parser = argparse.ArgumentParser(prog="hypermargin.check", description="Check a certificate in exact arithmetic.")
    add = parser.add_argument
    add("proof", nargs="?", type=Path, help="a certificate file")
    add("points", nargs="?", type=Path, help="a CSV file: coordinates, and the class in the last column")
    add("--geometry", default="lorentz", choices=[*SPACE], help="what the coordinates are (%(default)s)")
    add("--curvature", type=float, default=1.0, help="c of the curvature -c (%(default)s)")
    add("--label", metavar="COLUMN", help="the column of the classes (default: the last one)")
    add("--weight", metavar="COLUMN", help="the column of sample weights")
    add("--copy", type=Path, metavar="FILE", help="write this program into one file that runs anywhere")
    options = parser.parse_args(arguments)
    if options.copy:
        copy_to(options.copy)
        print(f"wrote {options.copy}; it needs Python and python-flint: python {options.copy} proof.json points.csv")
        return 0
    if options.proof is None or options.points is None:
        parser.error("give a certificate file and a file of points")
    try:
        certificate = read_certificate(options.proof)
        stated = certificate.get("statement") if isinstance(certificate, dict) else None
        if not isinstance(stated, dict):
            raise Refused(f"{options.proof} does not state which problem it is about")
        name, bound, problem = best_verdict(certificate, stated, read_points(options))
    except (OSError, UnicodeDecodeError, Refused) as error:
        print(f"hypermargin.check: {error}", file=sys.stderr)
        return 2
    if isinstance(bound, Refused) or problem is None:
        print(f"{options.proof} proves nothing about {options.points}: {bound}")
        return 1
    what = "nothing separates the classes" if bound == math.inf else f"lower bound  {bound!r}"
    print(f"{options.proof}: holds for {options.points}, {name}, C = {problem.C:g}\n{what}")
    if _falls_short(bound, stated):
        print(f"which is less than it states: {stated['bound']!r}")
        return 1
    return 0 if bound == math.inf else say_gap(certificate, stated, problem, bound)


def say_gap(certificate: Any, stated: Any, problem: Problem, bound: float) -> int:
    """Print the objective of the answer in the file and the gap; 1 if it is more than the file states."""
    if "answer" not in certificate and "coefficients" not in certificate:
        print("objective    unknown: the file holds no answer, as files of old")
        return 0
    try:
        reached = objective(certificate, problem)
    except Refused as error:
        print(f"the answer in the file is none for this problem: {error}")
        return 1
    print(f"objective    {reached!r} of the answer in the file")
    print(f"gap          {(reached - bound) / max(abs(reached), 1e-12):.3g}")
    if isinstance(stated.get("objective"), float) and not reached <= stated["objective"] * (1.0 + OBJECTIVE_ROUNDING):
        print(f"which is more than it states: {stated['objective']!r}")
        return 1
    return 0


def copy_to(path: Path) -> None:
    """This module, the reference checker and the module of its precision as one file that Python runs."""
    with TemporaryDirectory() as folder:
        inside, reference = Path(folder) / "checker", "certificates/reference"
        copytree(Path(__file__).parent / reference, inside / reference, ignore=ignore_patterns("__pycache__"))
        for module in (__file__, precision.__file__):
            copy(module, inside)
        zipapp.create_archive(folder, path, main="checker.check:program")


def program() -> None:
    sys.exit(main())


def read_certificate(path: Path) -> Any:
    if path.stat().st_size > MOST_BYTES:
        raise Refused(f"{path} has more than {MOST_BYTES:,} bytes")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path} is not a certificate: {error}") from error


def read_points(options: argparse.Namespace) -> list[Sample]:
    """The samples of a table; a first row that holds no numbers is a header."""
    with options.points.open(newline="", encoding="utf-8-sig") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(cell.strip() for cell in row)]
    if not rows:
        raise Refused(f"{options.points} is empty")
    header = [str(k) for k in range(1, len(rows[0]) + 1)] if any(map(_is_number, rows[0])) else rows.pop(0)
    special = [header[-1] if options.label is None else options.label, options.weight]
    for name in special:
        if name is not None and name not in header:
            raise Refused(f"{options.points} has no column {name!r}; its columns are {', '.join(header)}")
    samples, scale = list[Sample](), arb(options.curvature).sqrt()
    for count, row in enumerate(rows, start=1):
        named = dict(zip(header, row, strict=False))
        if len(row) != len(header) or not all(_is_number(named[name]) for name in header if name != special[0]):
            raise Refused(f"row {count} of {options.points} does not hold {len(header) - 1} numbers and a class")
        with digits(256):
            p = [arb(float(named[name])) for name in header if name not in special]
            size = scale * dot(p, p).sqrt()
            if options.geometry in ("poincare", "klein") and not size < 1:
                raise Refused(f"a point does not lie within the {options.geometry} ball")
            space = [float(v.mid()) for v in SPACE[options.geometry](p, scale, size)]
        samples.append((space, named[special[0]], float(named.get(options.weight, 1.0))))
    return samples


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _falls_short(bound: float, stated: dict[str, Any]) -> bool:
    return isinstance(stated.get("bound"), float) and bound < stated["bound"] - ROUNDING * abs(stated["bound"])


# -- the binary problems that a table may stand for -------------------------------------------------------------------


def best_verdict(certificate: Any, stated: Any, samples: list[Sample]) -> tuple[str, float | Refused, Problem | None]:
    """The binary problem of the data about which the certificate proves most, and what it proves or why nothing.

    What a certificate states about itself is only where the search begins, and no part of what is proved.
    """
    C = math.inf if stated.get("C") == "inf" else stated.get("C")
    if type(C) not in (int, float):
        raise Refused("the certificate does not state the C of its problem")
    text, best = stated.get("uncertainty"), list[tuple[float, str, float | Refused, Problem | None]]()
    found = re.fullmatch(r"(GeodesicBall|Box|CrossPolytope|Ball)\(rho=([^,()]+)\)", str(text))
    if text is not None and not (found and _is_number(found[2])):
        raise Refused(f"the uncertainty set {text!r:.80} is not one of a single size; use the library to check it")
    for name, ahead, own in _binary_problems(samples):
        space, y, weight = [s for s, *_ in own], [1 if c in ahead else -1 for _, c, _ in own], [v for *_, v in own]
        noise = {"set": found[1], "rho": [float(found[2])] * len(y)} if found else None
        if len(y) != stated.get("n_samples"):
            continue
        try:
            names = [_name(*sample) for sample in zip(space, y, weight, strict=True)]
            timelike = stated.get("allow_timelike") is True
            problem = Problem(space, y, float(C), weight, noise, timelike, names=names)
            bound = check(certificate, problem)
            best.append((bound, name, bound, problem))
            if not _falls_short(bound, stated):
                break
        except Refused as error:
            best.append((-math.inf, name, error, None))
    if not best:
        raise Refused(f"no two classes of the points make the {stated.get('n_samples')} samples that it is about")
    return max(best, key=lambda one: one[0])[1:]


def _binary_problems(samples: list[Sample]) -> Iterator[tuple[str, set[str], list[Sample]]]:
    """Pairs of classes, and one class against the rest, both ways round; samples as given and in the classifiers'
    order: by class and then by a number made of their coordinates, equal ones being one with their weights added."""
    classes = sorted({c for _, c, _ in samples}, key=lambda c: (float(c) if _is_number(c) else math.inf, c))
    sides = [({b}, {a}) for a, b in combinations(classes, 2)]
    sides += [({a}, set(classes) - {a}) for a in classes] if len(classes) > 2 else []
    ordered = sorted(
        samples, key=lambda s: (classes.index(s[1]), sum(math.cos(1.0 + j * j) * v for j, v in enumerate(s[0])))
    )
    for ahead, behind in [*sides, *((b, a) for a, b in sides)]:
        name = f"{'/'.join(sorted(ahead))} against {'/'.join(sorted(behind)) if len(behind) < 3 else 'the rest'}"
        merged = list[Sample]()
        for space, c, weight in (one for one in ordered if one[1] in ahead | behind):
            if merged and merged[-1][0] == space and (merged[-1][1] in ahead) == (c in ahead):
                weight += merged.pop()[2]
            merged.append((space, c, weight))
        yield name, ahead, [one for one in samples if one[1] in ahead | behind]
        yield name, ahead, merged


def _name(space: list[float], label: int, weight: float) -> str:
    """The hash by which certificates for blocks of data name a sample: of its coordinates, label and weight."""
    of_point = _hashed([_bits(v) for v in space])
    return f"{_hashed([_hashed([of_point, label % 2**64]), _bits(weight)]):016x}"


def _bits(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value + 0.0))[0]


def _hashed(words: list[int]) -> int:
    value = 0x9E3779B97F4A7C15
    for word in words:
        value = (value ^ word) * 0x9E3779B97F4A7C15 % 2**64
        value ^= value >> 32
    value = value * 0xFF51AFD7ED558CCD % 2**64
    return value ^ (value >> 29)


if __name__ == "__main__":
    program()
