"""Kernels beside scikit-learn's SVC on the same kernel matrix, that matrix included; curves beside LinearSVC.

    python benchmarks/bench_kernels.py

`HyperbolicKernelSVC` solves to a proved relative gap of 1e-6 and calibrates probabilities; `SVC` stops at its default
tolerance and does neither.
"""

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from harness import TABLES, Row, in_turn, seconds, write_table
from hypermargin import HyperbolicKernelSVC, HyperbolicSVC
from hypermargin.geometry import lift

KERNELS = (("heat", 10.0), ("heat", 1.0), ("cosh", 10.0), ("laplacian", 10.0))
SETS = ("olsson", "krumsiek", "tree_1", "myeloidprogenitors", "moignard", "paul")
TARGET = 2.0


def paper_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = Path(os.environ["HYPERMARGIN_DATA"]) / name
    return np.load(folder / "X_lorentz.npy").astype(float), np.load(folder / "y.npy").ravel()


def kernel_rows(name: str) -> list[Row]:
    X, y = paper_set(name)
    rows = []
    for kernel, C in KERNELS:
        model = HyperbolicKernelSVC(kernel=kernel, C=C).fit(X, y)
        fitted = model.kernel_

        def theirs(fitted=fitted, C=C):
            return SVC(kernel="precomputed", C=C).fit(fitted(X), y)

        ours, rival, model, _ = in_turn(
            lambda kernel=kernel, C=C: HyperbolicKernelSVC(kernel=kernel, C=C).fit(X, y), theirs
        )
        proved = sum(status.is_proved for status in model.statuses_)
        rows.append(
            Row(
                f"{name}, {kernel}, C = {C:g}: {len(X)} points, {len(model.statuses_)} problems",
                seconds(ours),
                f"SVC {seconds(rival)}",
                f"{ours / rival:.2f}",
                f"{TARGET:g}",
                f"{proved} proved, largest gap {model.gaps_.max():.0e}",
            )
        )
    return rows


def curve_row(n: int) -> Row:
    rng = np.random.default_rng(0)
    X = lift(1.5 * rng.normal(size=(n, 2)))
    y = np.arccosh(X[:, 0]) + 0.3 * rng.normal(size=n) < 1.2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, rival, model, _ = in_turn(
            lambda: HyperbolicSVC(boundary="curve").fit(X, y), lambda: LinearSVC(dual=True).fit(X, y)
        )
    note = f"gap {model.gaps_[0]:.0e}, {model.statuses_[0].name}"
    return Row(f"curve, {n} points", seconds(ours), f"LinearSVC {seconds(rival)}", f"{ours / rival:.2f}", "", note)


def main() -> None:
    rows = [curve_row(2000), curve_row(50000)]
    if "HYPERMARGIN_DATA" in os.environ:
        rows += [row for name in SETS for row in kernel_rows(name)]
    write_table(
        TABLES / "kernels.md",
        "Benchmarks: kernels and curves",
        rows,
        "python benchmarks/bench_kernels.py",
        remarks=(
            "SVC is given the kernel function of this package and its time includes the matrix. It stops at its "
            "default tolerance, keeps kernel values in single precision, proves nothing and fits no probabilities.",
        ),
    )


if __name__ == "__main__":
    main()
