"""One-vs-one and one-vs-rest, and the two calibrations of the latter: held-out accuracy, log loss and processor time.

    python benchmarks/bench_schemes.py                        # the paper's data and Gaussian classes
    python benchmarks/bench_schemes.py olsson 8x20x2000       # data sets, or dimensions x classes x samples

The paper's data is read from the folder in HYPERMARGIN_DATA. Means over five folds, each with the C of 0.1, 1 and 10
that has the least log loss on three inner folds.
"""

import os
import sys
import time
import warnings

for library in ("OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402 (after the number of threads is set)
from sklearn.metrics import log_loss  # noqa: E402
from sklearn.model_selection import GridSearchCV, StratifiedKFold  # noqa: E402

from hypermargin.datasets import fetch_embedding  # noqa: E402
from hypermargin.estimators import HyperbolicSVC  # noqa: E402
from hypermargin.geometry.metric import exp_origin  # noqa: E402

REAL = ("polbooks", "football", "olsson", "myeloidprogenitors", "krumsiek", "moignard", "paul")
DRAWN = ("8x3x400", "8x5x600", "32x5x400", "8x10x1000", "32x10x1000", "16x20x2000", "16x40x3000", "16x100x5000")
SCHEMES = {
    "one-vs-one": {"multi_class": "ovo"},
    "one-vs-rest, Platt": {"multi_class": "ovr", "calibration": "platt"},
    "one-vs-rest, softmax": {"multi_class": "ovr"},
}


def samples(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A data set of the paper, or Gaussian classes in the tangent space at the origin."""
    if not name[0].isdigit():
        embedding = fetch_embedding(name)
        return embedding.X, np.unique(embedding.y, return_inverse=True)[1]
    dim, n_classes, n = map(int, name.split("x"))
    rng = np.random.default_rng(0)
    labels = np.arange(n) % n_classes
    centres = rng.standard_normal((n_classes, dim))
    return exp_origin(0.5 * (centres[labels] + 0.8 * rng.standard_normal((n, dim)))), labels


def row(name: str) -> str:
    X, y = samples(name)
    cells = []
    for settings in SCHEMES.values():
        found = []
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            model = HyperbolicSVC(**settings, tol=1e-4, solver_options={"verify": False})
            search = GridSearchCV(model, {"C": [0.1, 1.0, 10.0]}, cv=3, scoring="neg_log_loss", refit=False)
            model.set_params(**search.fit(X[train], y[train]).best_params_)
            began = time.process_time()
            probability = model.fit(X[train], y[train]).predict_proba(X[test])
            seconds = time.process_time() - began
            accuracy = float(np.mean(model.predict(X[test]) == y[test]))
            found.append((accuracy, log_loss(y[test], probability, labels=model.classes_), seconds))
        cells.append("{:.3f} / {:.3f} / {:.2f} s".format(*np.mean(found, axis=0)))
    return f"| {name} | {np.unique(y).size} | {' | '.join(cells)} |"


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"| data | classes | {' | '.join(SCHEMES)} |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or REAL + DRAWN:
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
