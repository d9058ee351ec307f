"""Whether the defaults of the classifiers hold everywhere: each against its tuned self, from 2 to 512 dimensions.

    python benchmarks/defaults_everywhere.py                      the table in docs/benchmarks/defaults-everywhere.md
    python benchmarks/defaults_everywhere.py --only "kernel SVC"  some classifiers, printed
    python benchmarks/defaults_everywhere.py --dims 2 16          some dimensions, printed

Gaussian classes: directions drawn at random, tangent vectors scattered around them and scaled so that the farthest lies
at the radius; half of them are held out. A figure is the accuracy on those, of the default and, after the stroke, of
the setting that three folds of the other half prefer among those listed in `CLASSIFIERS`. Tuning may lose to chance: a
default is behind where it is the lesser one by more than twice the standard error of the difference of their answers.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.model_selection import GridSearchCV

from harness import TABLES, environment
from hypermargin import HyperbolicKernelSVC

DIMS, RADII = (2, 8, 16, 48, 128, 512), (0.01, 12.0)
#: Classes and points of each, of which half are held out.
CLASSES = {2: 120, 4: 80, 100: 20}


@dataclass(frozen=True)
class Classifier:
    """A default, and what its tuned self chooses from, the dimension given; points are tangent vectors."""

    make: Callable[[], Any]
    settings: Callable[[int], list[dict[str, list[Any]]]]


def kernel_settings(dim: int) -> list[dict[str, list[Any]]]:
    """Three C for every kernel at its scale; the heat kernel takes minutes from a hundred dimensions on."""
    kernels = ["laplacian", "cosh", "distance"] + ["heat"] * (dim <= 48)
    return [{"kernel": kernels, "C": [0.1, 1.0, 10.0]}]


CLASSIFIERS = {"kernel SVC": Classifier(lambda: HyperbolicKernelSVC(geometry="tangent", tol=1e-3), kernel_settings)}


def gaussian_classes(dim: int, radius: float, n_classes: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Tangent vectors at the origin, shape (n, dim), and their classes."""
    rng = np.random.default_rng([dim, n_classes])
    means = rng.standard_normal((n_classes, dim))
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    y = np.repeat(np.arange(n_classes), each)
    width = 0.2 if dim > 2 else 1.0 / n_classes  # as wide as leaves a task: directions in the plane are nearer
    points = means[y] + width * rng.standard_normal((y.size, dim))
    return points * (radius / np.linalg.norm(points, axis=1).max()), y


def answers(classifier: Classifier, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the points held out are answered rightly, by the default and by its tuned self."""
    train = np.arange(y.size) % 2 == 0
    search = GridSearchCV(classifier.make(), classifier.settings(X.shape[1]), cv=3)
    right = []
    for model in (classifier.make(), search):
        model.fit(X[train], y[train])
        right.append(model.predict(X[~train]) == y[~train])
    return right[0], right[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CLASSIFIERS, default=list(CLASSIFIERS))
    parser.add_argument("--dims", nargs="+", type=int, default=list(DIMS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of the poor settings that the grid holds
    console = Console(stderr=True)
    head = ["dimensions", "radius", "classes", *arguments.only]
    lines, behind = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"], dict.fromkeys(arguments.only, 0)
    for dim, radius, n_classes in ((d, r, k) for d in arguments.dims for r in RADII for k in CLASSES):
        X, y = gaussian_classes(dim, radius, n_classes, CLASSES[n_classes])
        cells = [f"{dim}", f"{radius:g}", f"{n_classes}"]
        for name in arguments.only:
            default, tuned = answers(CLASSIFIERS[name], X, y)
            difference = tuned.astype(float) - default
            is_behind = difference.mean() > 2.0 * difference.std() / np.sqrt(len(difference))
            behind[name] += is_behind
            cells.append(f"{default.mean():.3f} / {tuned.mean():.3f}{' (behind)' if is_behind else ''}")
        lines.append(f"| {' | '.join(cells)} |")
        console.print(lines[-1])
    table = "\n".join(lines)
    if arguments.dims != list(DIMS) or arguments.only != list(CLASSIFIERS):
        print(table)
        return
    description = " ".join(__doc__.rsplit("\n\n", 1)[1].split())
    page = [
        "# Benchmarks: defaults everywhere",
        f"`python benchmarks/defaults_everywhere.py` wrote this page. {description}",
        environment(),
        "; ".join(f"{name}: behind in {count} of {len(lines) - 2} rows" for name, count in behind.items()) + ".",
        table,
    ]
    (TABLES / "defaults-everywhere.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
