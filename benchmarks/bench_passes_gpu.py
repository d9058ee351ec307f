"""Points on a graphics card: how long a certified answer takes, check included (PyTorch with CUDA, Triton).

python benchmarks/bench_passes_gpu.py                           the table in docs/benchmarks/passes-gpu.md
python benchmarks/bench_passes_gpu.py --only sanity             what is installed, and whether card and processor agree
python benchmarks/bench_passes_gpu.py --only 1e9 4e9 --output table.md

Data is made on the card and stays there. "solve" is `solve` on points and sides that lie on the card, from the first
pass to the checked certificate and its statement; "fit" is `HyperbolicSVC.fit` on tensors of points and labels, with
all checks of the input and Platt scaling. Where the package is not installed, PYTHONPATH=src:benchmarks will do: no
compiler is needed, since the search is short. "fit" needs scikit-learn and is left out where that is absent.
"""

import argparse
import platform
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from harness import TABLES, Row, best_of, seconds, write_table

#: What a solve on a card imports, by the name of the module.
NEEDED = ("torch", "triton", "array_api_compat", "flint", "cython")
#: What makes a fit possible, and what is good to have.
WELCOME = ("sklearn", "scipy", "joblib", "rich", "cupy", "cuml", "pytest")
GIB = 2**30
TOL = 1e-6
#: Rows made at a time.
CHUNK = 1 << 25
#: Relative distances from the proved optimum at which the clock of a rival is read.
CLOSE = (1e-2, 1e-3, 1e-4, 1e-6)


def points(n: int, dim: int):
    """Two overlapping classes: Gaussians in the tangent space at the origin, as Lorentz points, and sides -1 and +1."""
    import torch

    torch.manual_seed(0)
    X = torch.empty((n, dim + 1), dtype=torch.float64, device="cuda")
    side = torch.empty(n, dtype=torch.int8, device="cuda")
    shift = 0.5 if dim <= 3 else 1.0
    for start in range(0, n, CHUNK):
        rows = slice(start, min(start + CHUNK, n))
        m = rows.stop - rows.start
        side[rows] = 2 * (torch.arange(m, device="cuda") % 2).to(torch.int8) - 1
        v = (0.8 / dim**0.5 if dim > 3 else 0.8) * torch.randn((m, dim), dtype=torch.float64, device="cuda")
        v[:, 0] += shift * side[rows]
        length = v.norm(dim=1, keepdim=True).clamp_min(1e-12)
        v *= torch.sinh(length) / length
        X[rows, 1:] = v
        X[rows, 0] = torch.sqrt(1.0 + (v * v).sum(dim=1))
    return X, side


def spread(X, side, C: float = 1.0):
    from hypermargin.data.blocked_problem import BlockedProblem
    from hypermargin.data.device import DeviceSamples
    from hypermargin.data.executors import InMemory

    return BlockedProblem(InMemory([DeviceSamples(X[:, 1:], side)]), C)


def solved(X, side, *, verify: bool):
    from hypermargin import solve

    return solve(spread(X, side), tol=TOL, verify=verify)


def sanity() -> list[Row]:
    """Do card and processor come to the same answers, and does each check the other's certificate?"""
    from hypermargin import MarginProblem, solve

    rows = []
    for dim in (2, 3, 5):
        X, side = points(100_000, dim)
        on_host = MarginProblem(X.cpu().numpy(), side.cpu().numpy().astype(float))
        slow, reference = best_of(lambda problem=on_host: solve(problem, tol=TOL), 1)
        on_card = {"PyTorch": spread(X, side)}
        if find_spec("cupy") is not None:
            import cupy

            on_card["CuPy"] = spread(cupy.from_dlpack(X), cupy.from_dlpack(side))
        for library, problem in on_card.items():
            fast, ours = best_of(lambda problem=problem: solve(problem, tol=TOL), 2)
            apart = abs(ours.objective / reference.objective - 1.0)
            there = reference.certificate.verify(problem) / reference.lower_bound - 1.0
            here = ours.certificate.verify(on_host) / ours.lower_bound - 1.0
            same = _same_data(ours, reference)
            note = (
                f"{ours.status.name}, objectives {apart:.0e} apart; bounds of each checked by the other "
                f"{there:+.0e} and {here:+.0e} off; fingerprints {'equal' if same else 'DIFFER'}"
            )
            agrees = ours.is_proved and apart < 1e-8 and max(abs(there), abs(here)) < 1e-9 and same
            what = f"sanity, {library}, n = 1e5, d = {dim}"
            note = note if agrees else f"WRONG: {note}"
            rows.append(Row(what, seconds(fast), f"NumPy {seconds(slow)}", "", "", note))
    return rows


def _same_data(one, other) -> bool:
    stated = [(s.certificate.statement.points, s.certificate.statement.labels) for s in (one, other)]
    return stated[0] == stated[1]


def planar(n: int, target: str, *, with_fit: bool) -> list[Row]:
    """n points in the plane: passes, solves and, if asked for, whole fits."""
    import torch

    from hypermargin.solvers.exact.frames import first_frame
    from hypermargin.solvers.exact.runs import make_oracle

    X, side = points(n, 2)
    torch.cuda.synchronize()
    problem = spread(X, side)
    oracle = make_oracle(problem, first_frame(problem, TOL))
    w = np.array([[0.1, 0.3, -0.2]])
    one_pass, _ = best_of(lambda: oracle.cuts(w), 5)
    unchecked, _ = best_of(lambda: solved(X, side, verify=False), 2)
    torch.cuda.reset_peak_memory_stats()
    whole, solution = best_of(lambda: solved(X, side, verify=True), 3)
    note = (
        f"{solution.status.name}, gap {solution.gap:.1e}, {solution.n_iter} passes of {1e3 * one_pass:.2f} ms, "
        f"{seconds(unchecked)} without the check, {len(solution.certificate.points)} cuts in the certificate, "
        f"{torch.cuda.max_memory_allocated() / GIB:.0f} GiB"
    )
    rate = f"{n * 25 / one_pass / 1e12:.2f} TB/s in a pass"
    rows = [Row(f"solve, n = {n:.0e}, d = 2", seconds(whole), rate, "", target, note)]
    if with_fit:
        rows.append(_fit_row(X, (side > 0).to(torch.int8)))
    return rows


def _fit_row(X, labels) -> Row:
    import torch

    what = f"fit, n = {len(X):.0e}, d = 2"
    try:
        from hypermargin import HyperbolicSVC
    except ImportError as error:
        return Row(what, "left out", "", "", "", str(error))
    start = time.perf_counter()
    model = HyperbolicSVC(tol=TOL).fit(X, labels)
    fitted = time.perf_counter() - start
    start = time.perf_counter()
    accuracy = float((model.predict(X) == labels).double().mean())
    torch.cuda.synchronize()
    predicted = time.perf_counter() - start
    note = f"{model.statuses_[0].name}; accuracy {accuracy:.1%}, predicted in {seconds(predicted)}"
    return Row(what, seconds(fitted), "", "", "", note)


def many_dimensions(n: int, dim: int, time_limit: float) -> list[Row]:
    """n points in many dimensions, and descent by PyTorch on the same card on the same objective."""
    X, side = points(n, dim)
    return [row for factor in (1.0, 100.0) for row in _against_descent(X, side, factor, time_limit)]


def _against_descent(X, side, factor: float, time_limit: float) -> list[Row]:
    """A solve with ``C = factor/n``, and how near to its bound rivals come in which time."""
    from hypermargin import solve
    from hypermargin.solvers.exact.frames import first_frame
    from hypermargin.solvers.exact.runs import make_oracle

    n, dim = len(X), X.shape[1] - 1
    problem = spread(X, side, factor / n)
    oracle = make_oracle(problem, first_frame(problem, TOL))
    one_pass, _ = best_of(lambda: oracle.cuts(np.zeros((1, dim + 1)) + 0.01), 5)
    ours, solution = best_of(lambda: solve(problem, tol=TOL, time_limit=time_limit), 1)
    note = f"{solution.status.name}, gap {solution.gap:.1e}, {solution.n_iter} passes of {1e3 * one_pass:.1f} ms"
    rows = [Row(f"solve, n = {n:.0e}, d = {dim}, C = {factor:g}/n", seconds(ours), "", "", "", note)]
    for name, descent in (("L-BFGS", _by_lbfgs), ("Adam", _by_adam)):
        descent(X[:1000], side[:1000].double(), factor, Clock(0.0, 0.0))  # loads what it needs
        clock = Clock(solution.lower_bound, 2.0 * max(ours, 5.0))
        descent(X, side.double(), factor, clock)
        rows.append(Row(f"the same objective by {name} of PyTorch", "", clock.summary(), "", "", clock.details()))
    return rows


class Clock:
    """When a rival got how near to the proved bound; it proves nothing itself."""

    def __init__(self, bound: float, limit: float):
        self.bound, self.limit, self.start = bound, limit, time.perf_counter()
        self.best, self.steps, self.reached = float("inf"), 0, {}

    def saw(self, value: float, form: float) -> bool:
        """Note an objective, which counts if the normal is no timelike one; whether there is time left."""
        elapsed, self.steps = time.perf_counter() - self.start, self.steps + 1
        if form >= 0.0 and value < self.best:
            self.best = value
            for close in CLOSE:
                if value <= (1.0 + close) * self.bound:
                    self.reached.setdefault(close, elapsed)
        return elapsed < self.limit

    def summary(self) -> str:
        if not self.reached:
            return f"not within {CLOSE[0]:.0e} of the bound in {self.limit:.0f} s"
        return ", ".join(f"{seconds(when)} to {close:.0e}" for close, when in self.reached.items())

    def details(self) -> str:
        return f"best {self.best / self.bound - 1.0:.1e} above the proved bound after {self.steps} evaluations"


def _objective(X, y, factor: float, w) -> tuple[Any, Any]:
    """``max(q, 0)/2 + factor * mean hinge / sqrt 2`` and q."""
    import torch

    q = (w[1:] ** 2).sum() - w[0] ** 2
    margins = y * (X @ torch.cat([w[:1], -w[1:]]))
    risk = factor * torch.clamp(1.0 - margins, min=0.0).mean() / 2**0.5
    return 0.5 * torch.clamp(q, min=0.0) + risk, q


def _begin(X) -> Any:
    import torch

    w = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    w[1] = 0.1
    return w.requires_grad_()


def _by_adam(X, y, factor: float, clock: Clock) -> None:
    import torch

    w = _begin(X)
    optimiser = torch.optim.Adam([w], lr=0.02)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.995)
    going = True
    while going:
        optimiser.zero_grad()
        value, q = _objective(X, y, factor, w)
        value.backward()
        going = clock.saw(float(value.detach()), float(q.detach()))
        optimiser.step()
        schedule.step()


def _by_lbfgs(X, y, factor: float, clock: Clock) -> None:
    import torch

    w = _begin(X)
    optimiser = torch.optim.LBFGS([w], max_iter=20, history_size=20, line_search_fn="strong_wolfe")
    going = True

    def closure():
        nonlocal going
        optimiser.zero_grad()
        value, q = _objective(X, y, factor, w)
        value.backward()
        going = clock.saw(float(value.detach()), float(q.detach())) and going
        return value

    last = float("inf")
    while going:
        optimiser.step(closure)
        if not clock.best < last:  # it stands still
            break
        last = clock.best


CASES: dict[str, Callable[[argparse.Namespace], list[Row]]] = {
    "sanity": lambda a: sanity(),
    "1e8": lambda a: planar(10**8, "", with_fit=not a.no_fit),
    "1e9": lambda a: planar(10**9, "under 1 s", with_fit=not a.no_fit),
    "4e9": lambda a: planar(4 * 10**9, "under 4 s", with_fit=False),
    "d128": lambda a: many_dimensions(10**7, 128, a.time_limit),
}


def present(name: str) -> str:
    """The version of a module, or that it is absent."""
    if find_spec(name) is None:
        return f"{name} absent"
    return f"{name} {getattr(__import__(name), '__version__', '')}".strip() if name in NEEDED else f"{name} present"


def main() -> None:
    parser = argparse.ArgumentParser(description="Certified answers for points on a graphics card.")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), help="lines to measure")
    parser.add_argument("--no-fit", action="store_true", help="leave whole fits out")
    parser.add_argument("--no-triton", action="store_true", help="operations of PyTorch instead of kernels")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for many dimensions (%(default)s)")
    parser.add_argument("--output", type=Path, default=TABLES / "passes-gpu.md", help="where the table goes")
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {', '.join(present(name) for name in (*NEEDED, *WELCOME))}", flush=True)
    missing = [name for name in NEEDED if name != "triton" and find_spec(name) is None]
    if missing:
        sys.exit(f"missing here: {', '.join(missing)} (pip install 'hypermargin[gpu]', or put them on PYTHONPATH)")
    import torch

    from hypermargin.compilation import is_compiled
    from hypermargin.solvers.exact.compiled import evaluator

    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here")
    if arguments.no_triton:
        from hypermargin.data import device

        device.DIMENSIONS = ()
    start = time.perf_counter()
    solved(*points(16_000, 2), verify=True)
    print(f"kernels compiled and a first solve made in {seconds(time.perf_counter() - start)}", flush=True)
    rows: list[Row] = []
    compiled = "compiled" if is_compiled(evaluator) else "interpreted"
    remark = (
        f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {present('triton')}; the search itself "
        f"{compiled}; tol = 1e-6 where nothing else is said."
    )
    for name in arguments.only:  # the table is written after each line: the next may not fit
        start = time.perf_counter()
        try:
            rows += CASES[name](arguments)
        except (torch.OutOfMemoryError, MemoryError) as error:
            rows.append(Row(name, "too large for this card", "", "", "", str(error).splitlines()[0][:120]))
        torch.cuda.empty_cache()
        print(f"{name}: {seconds(time.perf_counter() - start)} in all", flush=True)
        write_table(
            arguments.output, "Points on a graphics card", rows, "python benchmarks/bench_passes_gpu.py", [remark]
        )


if __name__ == "__main__":
    main()
