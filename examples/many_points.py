"""
Sixty thousand points
=====================

A fit to 60,000 points in the plane takes a fraction of a second, proof included.
The same data can come as an array, as a memory map, or in chunks from a file: the
optimum is the same, and so is the answer up to the tolerance.
"""

import time

import numpy as np

from hypermargin import HyperbolicSVC
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.passes import ArrayChunks
from hypermargin.plotting import PoincareDisplay

X, y = make_gaussian_mixture(30_000, 2, scale=0.7, random_state=0, return_X_y=True)
for name, points in (
    ("array", X),
    (
        "memory map",
        np.memmap("points.bin", dtype=X.dtype, mode="w+", shape=X.shape),
    ),
):
    points[:] = X
    start = time.perf_counter()
    model = HyperbolicSVC(C=1.0).fit(points, y)
    seconds = time.perf_counter() - start
    print(
        f"{name:<12}{len(y):,} points in {seconds:.2f} s: {model.statuses_[0].name}, gap {model.gaps_[0]:.0e}"
    )

chunks = ArrayChunks(X, y, rows=10_000)
in_chunks = HyperbolicSVC(C=1.0).fit(chunks)
objectives = [fitted.solutions_[0].objective for fitted in (model, in_chunks)]
print(
    "objectives from the array and from chunks: {:.4f} and {:.4f}".format(
        *objectives
    )
)
some = slice(None, None, 40)
PoincareDisplay.from_estimator(model, X[some], y[some]).figure_.savefig(
    "many_points.png", dpi=150
)
