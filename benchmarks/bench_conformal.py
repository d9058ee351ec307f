"""How often prediction sets miss the true class: on exchangeable data, and on data that has shifted since.

    python benchmarks/bench_conformal.py

Twenty data sets of two to four Gaussian classes in two to five dimensions; 300 points to fit, 300 to calibrate, 600 to
test, at the error rate 0.1. Shifts: all test points are moved by a translation, classes lie wider, or the shares of the
classes are turned round.
"""

import warnings

import numpy as np

from hypermargin.estimators import HyperbolicForestClassifier, HyperbolicKernelSVC, HyperbolicSVC
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.metric import exp_origin

ALPHA = 0.1
MODELS = {
    "geodesic": HyperbolicSVC(),
    "kernel": HyperbolicKernelSVC(),
    "forest": HyperbolicForestClassifier(n_estimators=30, random_state=0),
}
SHIFTS = {
    "none": {},
    "moved by 0.3": {"moved": 0.3},
    "moved by 1": {"moved": 1.0},
    "1.5 times as wide": {"width": 1.5},
    "shares of classes turned round": {"reverse": True},
}


def drawn(seed: int, rng: np.random.Generator, n: int, moved=0.0, width=1.0, reverse=False):
    shape = np.random.default_rng(seed)
    dim, n_classes = 2 + seed % 4, 2 + seed % 3
    share = shape.dirichlet(np.full(n_classes, 4.0))
    centres = 0.8 * shape.standard_normal((n_classes, dim))
    labels = rng.choice(n_classes, n, p=share[::-1] if reverse else share)
    X = exp_origin(centres[labels] + 0.7 * width * rng.standard_normal((n, dim)))
    return X @ boost(exp_origin(moved * np.eye(1, dim)[0])).T, labels


def main() -> None:
    warnings.simplefilter("ignore")
    print("| test points | model | missed, split | missed, cross | classes per set | unknown at 0.1 | wrong labels |")
    print("|---|---|---|---|---|---|---|")
    for shift, settings in SHIFTS.items():
        for name, model in MODELS.items():
            found = []
            for seed in range(20):
                rng = np.random.default_rng(1000 + seed)
                X, y = drawn(seed, rng, 600)
                T, truth = drawn(seed, rng, 600, **settings)
                model.fit(X[:300], y[:300]).conformalize(X[:300], y[:300], cv=5)
                cross = model.predict_set(T, ALPHA)[np.arange(600), truth]
                model.conformalize(X[300:], y[300:])
                sets = model.predict_set(T, ALPHA)
                labels = model.predict(T, reject=ALPHA, unknown=-1)
                wrong = (labels != -1) & (labels != truth)
                missed = 1.0 - sets[np.arange(600), truth].mean()
                found.append((missed, 1.0 - cross.mean(), sets.sum(axis=1).mean(), np.mean(labels == -1), wrong.mean()))
            print(
                f"| {shift} | {name} | {' | '.join(f'{value:.3f}' for value in np.mean(found, axis=0))} |", flush=True
            )


if __name__ == "__main__":
    main()
