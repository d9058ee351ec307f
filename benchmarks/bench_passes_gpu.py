"""Points on a graphics card: how long a certified answer takes, check included (PyTorch with CUDA, Triton).

python benchmarks/bench_passes_gpu.py                           the table in docs/benchmarks/passes-gpu.md
python benchmarks/bench_passes_gpu.py --only 1e9 --output table.md

Data is made on the card and stays there. "solve" is `solve` on points and sides that lie on the card, from the first
pass to the checked certificate and its statement; "fit" is `HyperbolicSVC.fit` on tensors of points and labels, with
all checks of the input and Platt scaling. Where the package is not installed, PYTHONPATH=src will do: no compiler is
needed, since the search is short.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from harness import TABLES, Row, best_of, seconds, write_table
from hypermargin import HyperbolicSVC, solve
from hypermargin.compilation import is_compiled
from hypermargin.passes import Resident, SpreadProblem
from hypermargin.passes.device import DeviceSamples
from hypermargin.solvers.exact.begin import make_oracle
from hypermargin.solvers.exact.compiled import evaluator
from hypermargin.solvers.exact.frames import first_frame

GIB = 2**30
TOL = 1e-6
#: Rows made at a time.
CHUNK = 1 << 25


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


def planar(n: int, target: str, with_fit: bool) -> list[Row]:
    """n points in the plane: passes, solves and, if asked for, whole fits."""
    import torch

    X, side = points(n, 2)
    torch.cuda.synchronize()
    problem = SpreadProblem(Resident([DeviceSamples(X[:, 1:], side)]), 1.0)
    oracle = make_oracle(problem, first_frame(problem, TOL))
    w = np.array([[0.1, 0.3, -0.2]])
    one_pass, _ = best_of(lambda: oracle.cuts(w), 5)
    unchecked, _ = best_of(lambda: _solved(X, side, verify=False), 2)
    torch.cuda.reset_peak_memory_stats()
    whole, solution = best_of(lambda: _solved(X, side, verify=True), 2)
    note = (
        f"{solution.status.name}, gap {solution.gap:.1e}, {solution.n_iter} passes of {1e3 * one_pass:.2f} ms, "
        f"{seconds(unchecked)} without the check, {len(solution.certificate.points)} cuts in the certificate, "
        f"{torch.cuda.max_memory_allocated() / GIB:.0f} GiB"
    )
    rate = f"{n * 25 / one_pass / 1e12:.2f} TB/s a pass"
    rows = [Row(f"solve, n = {n:.0e}, d = 2", seconds(whole), rate, "", target, note)]
    if with_fit:
        labels = (side > 0).to(torch.int8)
        del side, problem, oracle
        start = time.perf_counter()
        model = HyperbolicSVC(tol=TOL).fit(X, labels)
        fitted = time.perf_counter() - start
        accuracy, predicted = _accuracy(model, X, labels)
        note = f"{model.statuses_[0].name}; accuracy {accuracy:.1%}, predicted in {seconds(predicted)}"
        rows.append(Row(f"fit, n = {n:.0e}, d = 2", seconds(fitted), "", "", "", note))
    return rows


def _solved(X, side, verify: bool):
    problem = SpreadProblem(Resident([DeviceSamples(X[:, 1:], side)]), 1.0)
    return solve(problem, tol=TOL, verify=verify)


def _accuracy(model: HyperbolicSVC, X, labels) -> tuple[float, float]:
    import torch

    start = time.perf_counter()
    right = float((model.predict(X) == labels).double().mean())
    torch.cuda.synchronize()
    return right, time.perf_counter() - start


def many_dimensions(n: int, dim: int, time_limit: float) -> list[Row]:
    """n points in many dimensions, and descent by PyTorch on the same card."""
    X, side = points(n, dim)
    problem = SpreadProblem(Resident([DeviceSamples(X[:, 1:], side)]), 1.0 / n)
    oracle = make_oracle(problem, first_frame(problem, TOL))
    one_pass, _ = best_of(lambda: oracle.cuts(np.zeros((1, dim + 1)) + 0.01), 5)
    ours, solution = best_of(lambda: solve(problem, tol=1e-4, time_limit=time_limit), 1)
    note = f"{solution.status.name}, gap {solution.gap:.1e}, {solution.n_iter} passes of {1e3 * one_pass:.1f} ms"
    rival, ratio = _descent(X, side, problem, solution.objective, ours)
    what = f"solve to 1e-4, n = {n:.0e}, d = {dim}, C = 1/n, at most {time_limit:.0f} s"
    return [Row(what, seconds(ours), rival, ratio, "", note)]


def _descent(X, side, problem: SpreadProblem, objective: float, ours: float) -> tuple[str, str]:
    """Full-batch descent (Adam) on the same objective on the same card: what a user of PyTorch would write first."""
    import torch

    sign = torch.ones(X.shape[1], dtype=torch.float64, device="cuda")
    sign[1:] = -1.0
    w = torch.zeros(X.shape[1], dtype=torch.float64, device="cuda")
    w[1] = 0.1
    w.requires_grad_()
    optimiser = torch.optim.Adam([w], lr=0.02)
    y, start, best = side.double(), time.perf_counter(), float("inf")
    while time.perf_counter() - start < ours:
        optimiser.zero_grad()
        q = (w[1:] ** 2).sum() - w[0] ** 2
        value = 0.5 * torch.clamp(q, min=0.0) + torch.clamp(1.0 - y * (X @ (sign * w)), min=0.0).mean() / 2**0.5
        value.backward()
        if float(q) >= 0.0:
            best = min(best, float(value))
        optimiser.step()
    return f"Adam in PyTorch, as long: objective {best:.8g} (ours {objective:.8g})", f"{best / objective - 1.0:+.1e}"


CASES = {
    "1e8": lambda a: planar(10**8, "", True),
    "1e9": lambda a: planar(10**9, "under 1 s", True),
    "4e9": lambda a: planar(4 * 10**9, "under 4 s", False),
    "d128": lambda a: many_dimensions(10**7, 128, a.time_limit),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Certified answers for points on a graphics card.")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), help="lines to measure")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds for many dimensions (%(default)s)")
    parser.add_argument("--output", type=Path, default=TABLES / "passes-gpu.md", help="where the table goes")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed: pip install 'hypermargin[gpu]'")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here")
    _solved(*points(10_000, 2), verify=True)  # compiles the kernels
    rows: list[Row] = []
    compiled = "compiled" if is_compiled(evaluator) else "interpreted"
    remark = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; the search itself {compiled}; tol = 1e-6."
    for name in arguments.only:  # the table is written after each line: the next may not fit
        try:
            rows += CASES[name](arguments)
        except (torch.OutOfMemoryError, MemoryError) as error:
            rows.append(Row(name, "too large for this card", "", "", "", str(error).splitlines()[0][:120]))
        torch.cuda.empty_cache()
        write_table(
            arguments.output, "Points on a graphics card", rows, "python benchmarks/bench_passes_gpu.py", [remark]
        )


if __name__ == "__main__":
    main()
