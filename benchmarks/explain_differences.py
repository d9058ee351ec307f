"""What was tested to explain numbers that differ from the paper's: where solvers stop, and which candidates are drawn.

    python benchmarks/explain_differences.py          # a few minutes
    python benchmarks/explain_differences.py stops    # or seeds

The report quotes these figures (``src/hypermargin/experiments/explanations.json``).
"""

import sys
import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hypermargin.experiments.data import N_FOLDS, fold
from hypermargin.experiments.methods import get_method

#: Data set, scheme, C, folds; then the interior-point method's steps.
STOPS = [
    ("polbooks", "ovo", 1.0, tuple(range(N_FOLDS)), (30, 40, 50, 200)),
    ("krumsiek", "ovr", 10.0, (0, 1), (60, 100, 200)),
]
#: Data set, scheme and C; then how many seeds.
SEEDS = [
    ("krumsiek", "ovr", 1.0, 5),
    ("polbooks", "ovr", 1.0, 5),
    ("football", "ovr", 0.1, 8),
    ("paul", "ovr", 10.0, 8),
]


def run(method: str, dataset: str, scheme: str, C: float, folds: Sequence[int], seed: int = 0, **options) -> str:
    """Fit a method as published on some folds; its accuracies and the paper's eta in words."""
    accuracies, etas = [], []
    for number in folds:
        X_train, y_train, X_test, y_test = fold(dataset, number)
        model = get_method(method).build(dataset, C, scheme)
        model.set_params(random_state=seed, solver_options={**model.solver_options, **options})
        model.fit(X_train, y_train)
        accuracies.append(100.0 * model.score(X_test, y_test))
        etas.append(np.mean([solution.info["paper_eta"] for solution in model.solutions_]))
    if len(folds) == N_FOLDS:
        return f"accuracy {np.mean(accuracies):.2f} ± {np.std(accuracies):.2f}, eta {np.mean(etas):.2f}"
    each = [f"fold {number + 1}: {a:.2f}, eta {e:.2f}" for number, a, e in zip(folds, accuracies, etas, strict=True)]
    return "; ".join(each)


def stops() -> None:
    print("Moment as published, stopped after so many steps:")
    for dataset, scheme, C, folds, steps in STOPS:
        for step in steps:
            found = run("moment-published", dataset, scheme, C, folds, max_iter=step)
            print(f"  {dataset}, {scheme}, C = {C:g}, {step} steps: {found}", flush=True)


def seeds() -> None:
    print("SDP as published, with other random candidates:")
    for dataset, scheme, C, count in SEEDS:
        for seed in range(count):
            found = run("sdp-published", dataset, scheme, C, range(N_FOLDS), seed)
            print(f"  {dataset}, {scheme}, C = {C:g}, seed {seed}: {found}", flush=True)


TESTS = {"stops": stops, "seeds": seeds}


def main() -> None:
    chosen = sys.argv[1:] or list(TESTS)
    if unknown := set(chosen) - set(TESTS):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {' and '.join(TESTS)}")
    warnings.simplefilter("ignore", ConvergenceWarning)  # a stop before the end is what is looked at
    for name in chosen:
        TESTS[name]()


if __name__ == "__main__":
    main()
