"""Does robust training help? Accuracy on clean points, under noise, and against the true worst case.

Lengths are measured by the data: size s of a data set means ``rho = s`` times the median distance of a training point
to the nearest one of another class. Noise is a normal vector in the tangent space at the point itself, of root mean
square length rho, followed by the exponential map: it knows no origin. Adversarial accuracy counts the test points that
are classified correctly and whose prediction no point within the geodesic ball of radius rho changes, in closed form
with two classes; one-vs-one votes give a lower bound (`certified`) and an upper one (`attacked`).
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from hypermargin import __version__
from hypermargin.arrays import Array
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.isometries import move_from_origin
from hypermargin.geometry.metric import exp_origin, log_origin, pairwise_distance
from hypermargin.geometry.validation import MAX_RADIUS
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, UncertaintySet
from hypermargin_studies.datasets import GAUSSIANS, REAL, TREES, digest, load
from hypermargin_studies.engine import cells as engine
from hypermargin_studies.engine.report import Picture, Report, Table

#: Changes when what a cell records changes.
RECORD_FORMAT = 1
DATASETS = (*GAUSSIANS, *TREES, *REAL)
#: Training plus test points of one run; larger sets are drawn from, so that every method can be fitted many times.
MAX_SAMPLES = 600
TEST_SHARE = 0.4
PGD = {"epochs": 1000}
#: One fit: data set, seed, size, rho and method, and shares of the test points by name (see `ASPECTS`).
Measurement = dict[str, Any]


def _ellipsoid(rho: float, X: Array) -> Ellipsoid:
    """The shape of the data's own spread in the tangent space at the origin, with axes of mean square rho."""
    spread = np.atleast_2d(np.cov(log_origin(X).T))
    values, vectors = np.linalg.eigh(spread)
    axes = np.sqrt(np.maximum(values, 0.0) / max(float(np.mean(values)), 1e-300))
    return Ellipsoid(vectors * axes, rho)


class Method(NamedTuple):
    """A solver, the set around the training points as a function of rho and X, and C."""

    solver: str
    uncertainty: Callable[[float, Array], UncertaintySet] | None = None
    C: float = 1.0


#: By name. The second weighs the margin more, which is another way to be careful.
METHODS = {
    "exact": Method("exact"),
    "exact, C = 0.1": Method("exact", C=0.1),
    "exact, geodesic ball": Method("exact", lambda rho, X: GeodesicBall(rho)),
    "exact, box": Method("exact", lambda rho, X: Box(rho)),
    "exact, cross-polytope": Method("exact", lambda rho, X: CrossPolytope(rho)),
    "exact, ball": Method("exact", lambda rho, X: Ball(rho)),
    "exact, ellipsoid": Method("exact", _ellipsoid),
    "euclidean": Method("euclidean"),
    "pgd": Method("pgd"),
    "pgd, geodesic ball": Method("pgd", lambda rho, X: GeodesicBall(rho)),
}


def draw(dataset: str, seed: int) -> tuple[Array, Array, np.ndarray, np.ndarray]:
    """``X_train, X_test, y_train, y_test``: a new mixture, or a new split of a set that is given once."""
    if dataset in GAUSSIANS:
        n_classes, scale, first = GAUSSIANS[dataset]
        X, y = make_gaussian_mixture(100, n_classes, scale=scale, random_state=first + seed, return_X_y=True)
    else:
        X, y = load(dataset)
    keep = np.bincount(y)[y] >= 5  # without classes of which a split would leave nothing
    X, y = X[keep], y[keep]
    if len(y) > MAX_SAMPLES:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_SAMPLES, stratify=y, random_state=seed)
        keep = np.bincount(y)[y] >= 3
        X, y = X[keep], y[keep]
    return tuple(train_test_split(X, y, test_size=TEST_SHARE, stratify=y, random_state=seed))


def typical_distance(X: Array, y: np.ndarray) -> float:
    """The median distance of a point to the nearest point of another class."""
    distances = pairwise_distance(X)
    distances[y[:, None] == y] = np.inf
    return float(np.median(distances.min(axis=1)))


def perturbed(X: Array, rho: float, rng: np.random.Generator) -> Array:
    """Every point moved by normal noise of its own tangent space, of root mean square length rho.

    Points that leave what double precision holds are drawn in to it along their ray from the origin.
    """
    steps = rng.normal(scale=rho / np.sqrt(X.shape[1] - 1), size=(len(X), X.shape[1] - 1))
    moved = np.stack([move_from_origin(exp_origin(step), x) for step, x in zip(steps, X, strict=True)])
    tangent = log_origin(moved)
    length, reach = np.linalg.norm(tangent, axis=1, keepdims=True), 0.999 * MAX_RADIUS
    return np.where(length > reach, exp_origin(tangent * (reach / np.maximum(length, reach))), moved)


@dataclass(frozen=True)
class Cell(engine.Cell):
    """One draw of a data set, with all sizes and methods."""

    RESULT: ClassVar[str] = "measurements"
    dataset: str
    seed: int
    sizes: tuple[float, ...]
    methods: tuple[str, ...]

    def content(self) -> dict[str, Any]:
        about = {"data": digest(self.dataset), "version": __version__, "format": RECORD_FORMAT}
        return {"study": "robustness", **asdict(self), **about}

    def in_words(self) -> str:
        return f"{self.dataset}, draw {self.seed + 1}"


def run_cell(cell: dict[str, Any], device: str | None = None) -> list[dict[str, Any]]:
    """All measurements of a cell in its plain form, as plain values. None of them uses a device."""
    return list(measure(**cell))


def measure(dataset: str, seed: int, sizes: Sequence[float], methods: Sequence[str]) -> Iterator[Measurement]:
    """All measurements of one draw of a data set."""
    X, X_test, y, y_test = draw(dataset, seed)
    unit = typical_distance(X, y)
    clean_models: dict[str, HyperbolicSVC] = {}
    for size in sizes:
        rho = size * unit
        rng = np.random.default_rng([seed, round(1000 * size)])
        moved, moved_test = perturbed(X, rho, rng), perturbed(X_test, rho, rng)
        for name in methods:
            robust = METHODS[name].uncertainty is not None
            if robust or name not in clean_models:  # without a set the model does not depend on rho
                clean_models[name] = fit(name, rho, X, y)
            model, on_noise = clean_models[name], fit(name, rho, moved, y)
            correct = model.predict(X_test) == y_test
            certified = correct & (model.certified_radius(X_test) >= rho)
            attacked = correct & (model.nearest_adversarial(X_test)[1] > rho)
            shares = np.mean(correct), model.score(moved_test, y_test), on_noise.score(X_test, y_test)
            measured = zip(MEASURED, map(float, (*shares, np.mean(certified), np.mean(attacked))), strict=True)
            yield {"dataset": dataset, "seed": seed, "size": size, "rho": rho, "method": name, **dict(measured)}


def fit(name: str, rho: float, X: Array, y: np.ndarray) -> HyperbolicSVC:
    """The classifier of a method, fitted; one-vs-one."""
    solver, make_set, C = METHODS[name]
    options, noise = PGD if solver == "pgd" else None, None if make_set is None else make_set(rho, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HyperbolicSVC(C=C, solver=solver, solver_options=options, uncertainty=noise, tol=1e-4).fit(X, y)


#: What is measured, and how it is called.
ASPECTS = {"clean": "clean", "noisy_test": "noise on test points", "noisy_train": "noise on training points"}
ASPECTS["certified"] = "worst case within rho"
MEASURED = (*ASPECTS, "attacked")
REFERENCE = "exact"
SECTION = "Accuracy by size of noise and sets"


def by_dataset(measurements: Sequence[Measurement]) -> dict[tuple[str, float], dict[str, Array]]:
    """Accuracies in per cent by (method, size) and aspect ("attacked" too): one per data set, the mean of its draws.

    The order of the data sets is the same everywhere, so that differences between methods can be taken.
    """
    names, found = sorted({m["dataset"] for m in measurements}), dict[tuple[str, float], dict[str, Array]]()
    for place in {(m["method"], m["size"]) for m in measurements}:
        own = [[m for m in measurements if (m["method"], m["size"], m["dataset"]) == (*place, name)] for name in names]
        means = np.array([[100.0 * np.mean([m[aspect] for m in draws]) for draws in own] for aspect in MEASURED])
        found[place] = dict(zip(MEASURED, means, strict=True))
    return found


def size_table(measurements: Sequence[Measurement], size: float) -> Table:
    """Mean accuracies at one size. Behind each: the difference to plain `exact`, its standard error over data sets."""
    table = by_dataset(measurements)
    plain, methods = table[REFERENCE, size], [method for method in METHODS if (method, size) in table]
    rows = [[method, *(_text(table[method, size], plain, aspect) for aspect in ASPECTS)] for method in methods]
    return Table(f"size-{size:g}", f"Size {size:g}", ["Method", *ASPECTS.values()], rows, "", SECTION)


def _text(own: Mapping[str, Array], reference: Mapping[str, Array], aspect: str) -> str:
    mean, upper, difference = own[aspect].mean(), own["attacked"].mean(), own[aspect] - reference[aspect]
    text = f"{mean:.1f} to {upper:.1f}" if aspect == "certified" and upper - mean >= 0.05 else f"{mean:.1f}"
    return text if own is reference else f"{text} ({difference.mean():+.1f} ± {_standard_error(difference):.1f})"


def _standard_error(values: Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else 0.0


def draw_differences(measurements: Sequence[Measurement]) -> Any:
    """Differences to plain `exact` in percentage points against the size of the noise, averaged over data sets."""
    from matplotlib import pyplot as plt

    from hypermargin.plotting.palette import CLASS_COLOURS

    table = by_dataset(measurements)
    sizes = sorted({size for _, size in table})
    methods = [name for name in METHODS if name != REFERENCE and (name, sizes[0]) in table]
    drawn, axes = plt.subplots(1, len(ASPECTS), figsize=(14.0, 4.4), sharex=True, layout="constrained")
    for ax, (aspect, title) in zip(axes, ASPECTS.items(), strict=True):
        ax.axhline(0.0, color="#808080", linewidth=1.0)
        for k, method in enumerate(methods):
            rows = [table[method, size][aspect] - table[REFERENCE, size][aspect] for size in sizes]
            shift = 1.0 + 0.02 * (k - 0.5 * len(methods))  # bars side by side
            dashes = "solid" if "geodesic" in method else ((0, (5, 2)) if "," in method else (0, (1, 1.5)))
            style = {"color": CLASS_COLOURS[k], "marker": "o" if "exact" in method else "s", "linestyle": dashes}
            means, errors = [row.mean() for row in rows], [_standard_error(row) for row in rows]
            ax.errorbar(np.array(sizes) * shift, means, errors, label=method, markersize=4.5, capsize=2.0, **style)
        ax.set(title=title, xscale="log", xlabel="size of noise and sets")
        ax.set_xticks(sizes, [f"{size:g}" for size in sizes])
        ax.minorticks_off()
    axes[0].set_ylabel("accuracy against plain exact, points")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return drawn


def make_report(measurements: Sequence[Measurement], folder: Path, facts: Mapping[str, str]) -> Report:
    """The tables, and the figure as a file in `folder`."""
    datasets, seeds = sorted({m["dataset"] for m in measurements}), len({m["seed"] for m in measurements})
    report = Report("Robustness", ((SECTION, False),), facts)
    counted = f"{', '.join(datasets)} ({seeds} draw{'s' if seeds > 1 else ''} each)"
    measured = "In brackets: the difference to plain `exact`, and its standard error over the data sets."
    report.paragraph = f"Accuracy in per cent, averaged over the data sets {counted}. {measured}"
    caption = "Differences to plain `exact` in percentage points; bars are standard errors over data sets."
    report.draw(Picture(folder / "robustness.png", SECTION, caption), draw_differences, measurements)
    for size in sorted({m["size"] for m in measurements}):
        report.add(f"the table of size {size:g}", size_table, measurements, size)
    return report
