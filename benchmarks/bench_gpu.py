"""The moment relaxation on a GPU (PyTorch, CUDA) against NumPy on all cores of the same machine.

python benchmarks/bench_gpu.py                the table in docs/benchmarks/gpu.md
python benchmarks/bench_gpu.py --only screened --output table.md

Needs PyTorch with CUDA (pip install 'hypermargin[gpu]') and cifar in the folder HYPERMARGIN_DATA. Times are of whole
solves: the ball, the order-1 relaxation before it and the extraction after it run on the processor in both cases.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from harness import TABLES, Row, best_of, seconds, write_table
from hypermargin import MarginProblem, solve
from hypermargin.datasets import fetch_embedding

GIB = 2**30
RELAXATIONS = {"screened": ("screened, the default", {}), "all-groups": ("one group per sample", {"screen": False})}


def problem() -> MarginProblem:
    """Cifar, class 0 against the rest, the training points of the paper's first fold, C = 1."""
    X, y = fetch_embedding("cifar", return_X_y=True)
    train, _ = next(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    return MarginProblem(X[train], np.where(y[train] == 0, 1.0, -1.0))


def compare(label: str, options: dict, optimum: float, with_cpu: bool) -> Row:
    """Best of two solves on the GPU, and one on the processor."""
    import torch

    margin_problem = problem()
    torch.cuda.reset_peak_memory_stats()
    ours, gpu = best_of(
        lambda: solve(margin_problem, "moment", bounded=True, library="torch", device="cuda", **options), 2
    )
    note = (
        f"{gpu.info['n_groups']} groups, {gpu.n_iter} iterations; bound {gpu.lower_bound:.8g}, exact method: bound "
        f"{optimum:.8g}; {torch.cuda.max_memory_allocated() / GIB:.1f} GiB of the GPU"
    )
    rival = ratio = "not run"
    if with_cpu:
        theirs, cpu = best_of(lambda: solve(margin_problem, "moment", bounded=True, **options), 1)
        rival, ratio = f"processor {seconds(theirs)}", f"{theirs / ours:.1f}x"
        note += f"; processor: {cpu.n_iter} iterations, bound {cpu.lower_bound:.8g}"
    return Row(f"cifar, 48,000 points, {label}", seconds(ours), rival, ratio, "", note)


def main() -> None:
    parser = argparse.ArgumentParser(description="The moment relaxation on a GPU.")
    parser.add_argument("--only", nargs="+", choices=RELAXATIONS, default=list(RELAXATIONS), help="lines to measure")
    parser.add_argument("--cpu-for", nargs="*", choices=RELAXATIONS, default=list(RELAXATIONS), help="with the rival")
    parser.add_argument("--output", type=Path, default=TABLES / "gpu.md", help="where the table goes")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed: pip install 'hypermargin[gpu]'")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU here")
    optimum = solve(problem(), "exact").lower_bound
    solve(MarginProblem(*_warm_up()), "moment", library="torch", device="cuda")
    rows = []
    remark = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; d = 2, order 2, C = 1, one fold."
    title = "The moment relaxation on a GPU"
    for name in arguments.only:  # the table is written after each line: the next may take long
        rows.append(compare(*RELAXATIONS[name], optimum, name in arguments.cpu_for))
        write_table(arguments.output, title, rows, "python benchmarks/bench_gpu.py", [remark])


def _warm_up() -> tuple[np.ndarray, np.ndarray]:
    """A few points, so that the first line does not pay for starting the GPU."""
    angle = np.linspace(0.0, 6.0, 20)
    X = np.column_stack([np.full(20, np.cosh(1.0)), np.sinh(1.0) * np.cos(angle), np.sinh(1.0) * np.sin(angle)])
    return X, np.where(np.arange(20) % 3 == 0, 1.0, -1.0)


if __name__ == "__main__":
    main()
