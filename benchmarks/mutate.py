"""Do the tests notice a small change of the checker or of the exact method? Mutants of the code, one change each.

    python benchmarks/mutate.py --count 200 --jobs 2            # drawn by seed from all places that can be changed
    python benchmarks/mutate.py --only certificates --list

A comparison, an operator, a number, a sign, `min`/`max` or a condition is changed in one place of a copy of the
sources, which is compiled again where it has to be. The tests of the module then run until one fails. A mutant that
survives is compared with the original on drawn problems and on forged certificates: one that changes no bound, no
status and no verdict on a file is harmless (a constant of the search, a shortcut), and the others are listed; the exit
code is then 1.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("certificates", "solvers/exact")
#: The tests that a change of a package has to face, the quick ones first.
TESTS = {
    "certificates": ("tests/certificates", "tests/fuzz", "tests/solvers/exact", "tests/solvers/test_robust.py"),
    "solvers/exact": (
        "tests/solvers/exact",
        "tests/solvers/test_contract.py",
        "tests/fuzz",
        "tests/solvers/test_robust.py",
    ),
}
#: Seconds after which a run of the tests counts as a failure: a loop that does not end.
LONGEST = 900
COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}  # fmt: skip
OPERATORS = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
OTHER_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A change of one file: the bytes from `start` to `end` become `new`."""

    path: Path
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old} -> {self.new}"

    @property
    def tests(self) -> tuple[str, ...]:
        return next(tests for package, tests in TESTS.items() if f"hypermargin/{package}/" in self.path.as_posix())


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All changes of a file: in functions, but for annotations, decorators and texts."""
    source = (ROOT / path).read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.AST) -> tuple[int, int]:
        first = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return first, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def changed(node: ast.AST, start: int, end: int, new: str) -> Mutant:
        return Mutant(path, node.lineno, start, end, source[start:end].decode(), new)  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, old: str, new: str) -> Mutant:
        start = source.index(old.encode(), place(left)[1], place(right)[0])
        return changed(left, start, start + len(old), new)

    def visit(node: ast.AST) -> Iterator[Mutant]:
        if isinstance(node, ast.AnnAssign):  # types of compiled code are no values
            if node.value is not None:
                yield from visit(node.value)
            return
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from visit(statement)
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            yield between(node.left, node.comparators[0], *COMPARISONS[type(node.ops[0])])
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield between(node.left, node.right, *OPERATORS[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            pair = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            yield between(node.values[0], node.values[1], *pair)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            start, end = place(node)[0], place(node.operand)[0]
            yield changed(node, start, end, "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OTHER_NAMES:
            yield changed(node, *place(node.func), OTHER_NAMES[node.func.id])
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
        ):
            new = str(node.value + 1) if isinstance(node.value, int) else repr(node.value * 1.01 or 0.01)
            yield changed(node, *place(node), new)
        if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], (ast.Raise, ast.Return)):
            yield changed(node, *place(node.test), f"(False and ({source[slice(*place(node.test))].decode()}))")
        for child in ast.iter_child_nodes(node):
            if child not in getattr(node, "decorator_list", ()) and not isinstance(node, ast.JoinedStr):
                yield from visit(child)

    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield from visit(statement)


def all_mutants(only: str) -> list[Mutant]:
    folder = Path("src/hypermargin")
    paths = [path for package in PACKAGES for path in sorted((ROOT / folder / package).rglob("*.py"))]
    kept = [path.relative_to(ROOT) for path in paths if only in path.as_posix()]
    return [mutant for path in kept for mutant in dict.fromkeys(mutants_of(path))]


class Copy:
    """A copy of sources and tests in which one mutant at a time lives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        skip = shutil.ignore_patterns(".git", ".venv", "__pycache__", "build", "dist", "_build", ".*_cache", "results")
        shutil.copytree(ROOT, folder, ignore=skip, dirs_exist_ok=True)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder / "src"), os.environ.get("PYTHONPATH", "")]),
        }
        self.environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, *command: str, seconds: float = LONGEST) -> tuple[int, str]:
        try:
            done = subprocess.run(
                [sys.executable, *command],
                cwd=self.folder,
                env=self.environment,
                timeout=seconds,
                capture_output=True,
                text=True,
            )
        except subprocess.TimeoutExpired:
            return 124, "took too long"
        return done.returncode, done.stdout + done.stderr

    def build(self, mutant: Mutant) -> bool:
        """Compile what has changed; whether that worked."""
        return "compiled" not in mutant.path.parts or not self.run("setup.py", "-q", "build_ext", "--inplace")[0]

    def judge(self, mutant: Mutant, original: str) -> str:
        """How a mutant ended: "killed", "no code", "harmless", or what it changes."""
        path = self.folder / mutant.path
        source = path.read_bytes()
        path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
        try:
            if not self.build(mutant):
                return "no code"
            if self.test(mutant.tests)[0]:
                return "killed"
            same = _comparable(self.answers(), mutant) == _comparable(original, mutant)
            return "harmless" if same else "changes an answer and survives"
        finally:
            path.write_bytes(source)
            self.build(mutant)

    def test(self, tests: Iterable[str]) -> tuple[int, str]:
        """The exit code of the tests, 0 where all pass, and what they print."""
        return self.run("-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *tests)

    def answers(self) -> str:
        """Objectives, bounds, statuses and verdicts on forged certificates of a few thousand drawn cases, as text."""
        return self.run(str(Path("benchmarks") / "mutate.py"), "--answers")[1]


def _comparable(answers: str, mutant: Mutant) -> list[str]:
    """The lines that a mutant must not change: verdicts on forged certificates are about the checker alone.

    A solver that goes another way makes other certificates, and so other forgeries.
    """
    of_checker = "certificates" in mutant.path.parts
    return [line for line in answers.splitlines() if of_checker or not line.startswith("forged")]


def print_answers() -> None:
    """What a mutant may change, on cases that the tests do not draw."""
    import warnings

    sys.path.insert(0, str(ROOT / "tests"))
    warnings.simplefilter("ignore")
    from certificates.mutants import KINDS, plain, smart_mutant
    from certificates.mutants import solved as certified
    from fuzz.cases import draw_batch, varied
    from fuzz.verdict import make_problem, solved
    from hypermargin.certificates import Certificate, CertificateError

    for batch in range(40):
        for case in draw_batch(77, batch):
            case = varied(case) if batch % 2 else case
            try:
                problem = make_problem(case)
                answers = [] if problem is None or case.method == "moment" else solved(case, problem)
            except Exception as error:
                print(case.name, type(error).__name__)
                continue
            for answer in answers:  # as many digits as the tolerance leaves alone
                sharp = case.tol <= 1e-6 and answer.status.is_proved
                print(case.name, answer.status.name, f"{answer.objective:.4g}" if sharp else "")
    import numpy as np

    for kind in KINDS:
        problem, solution = certified(kind, 500)
        if solution.certificate is None:
            continue
        for k in range(60):
            forged = smart_mutant(plain(solution.certificate), np.random.default_rng([500, k]))
            try:
                with np.errstate(all="ignore"):
                    print("forged", kind, k, f"{Certificate.from_dict(forged).bound_for(problem):.9g}")
            except CertificateError:
                print("forged", kind, k, "refused")


def main() -> int:
    parser = argparse.ArgumentParser(description="Do the tests notice small changes of the checker and the solver?")
    parser.add_argument("--count", type=int, default=200, help="how many mutants to draw (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin with no mutant after so many")
    parser.add_argument("--only", default="", help="only files whose path has this in it")
    parser.add_argument("--list", action="store_true", help="print the mutants and judge none")
    parser.add_argument("--answers", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answers:
        print_answers()
        return 0
    mutants = all_mutants(options.only)
    chosen = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))
    print(f"{len(mutants):,} places to change, {len(chosen):,} drawn", flush=True)
    if options.list:
        print(*chosen, sep="\n")
        return 0
    endings: Counter[str] = Counter()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(options.jobs) as pool:
        copies: Queue[Copy] = Queue()
        for made in pool.map(Copy, [Path(home) / str(k) for k in range(options.jobs)]):
            copies.put(made)
        first = copies.get()
        failed, output = first.test(
            ["-n", str(options.jobs), *dict.fromkeys(test for mutant in chosen for test in mutant.tests)]
        )
        if failed:
            sys.exit(f"the tests fail without a mutant, so that they cannot judge one:\n{output[-2000:]}")
        original = first.answers()
        copies.put(first)

        def judged(mutant: Mutant) -> tuple[Mutant, str]:
            if time.perf_counter() - began > options.seconds:
                return mutant, "not judged"
            copy = copies.get()
            try:
                return mutant, copy.judge(mutant, original)
            finally:
                copies.put(copy)

        for done in as_completed([pool.submit(judged, mutant) for mutant in chosen]):
            mutant, ending = done.result()
            endings[ending] += 1
            if ending not in ("killed", "not judged"):
                print(f"{ending}: {mutant}", flush=True)
    print(", ".join(f"{count} {ending}" for ending, count in endings.most_common()))
    return 1 if endings["changes an answer and survives"] else 0


if __name__ == "__main__":
    sys.exit(main())
