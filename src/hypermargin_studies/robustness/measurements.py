"""Does robust training help? Accuracy on clean points, under noise, and against the true worst case.

Lengths are measured by the data: size s of a data set means ``rho = s`` times the median distance of a training point
to the nearest one of another class. Noise is a normal vector in the tangent space at the point itself, of root mean
square length rho, followed by the exponential map: it knows no origin. Adversarial accuracy counts the test points that
are classified correctly and whose prediction no point within the geodesic ball of radius rho changes, in closed form
with two classes; one-vs-one votes give a lower bound (`certified`) and an upper one (`attacked`).
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.model_selection import train_test_split

from hypermargin.arrays import Array
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.datasets.by_name import GAUSSIANS, REAL, TREES, load
from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.isometries import move_from_origin
from hypermargin.geometry.metric import pairwise_distance
from hypermargin.geometry.tangent import exp_origin, log_origin
from hypermargin.geometry.validation import MAX_RADIUS
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, UncertaintySet

DATASETS = (*GAUSSIANS, *TREES, *REAL)
SIZES = (0.1, 0.3, 1.0)
#: Training plus test points of one run; larger sets are drawn from, so that every method can be fitted many times.
MAX_SAMPLES = 600
TEST_SHARE = 0.4
PGD = {"epochs": 1000}


@dataclass(frozen=True)
class Measurement:
    """One fit: accuracies of a method on one draw of a data set at one size of noise, as shares of the test points."""

    dataset: str
    seed: int
    size: float
    rho: float
    method: str
    clean: float
    noisy_test: float
    noisy_train: float
    certified: float
    attacked: float

    def to_dict(self) -> dict[str, str | int | float]:
        return asdict(self)


def _ellipsoid(rho: float, X: Array) -> Ellipsoid:
    """The shape of the data's own spread in the tangent space at the origin, with axes of mean square rho."""
    spread = np.atleast_2d(np.cov(log_origin(X).T))
    values, vectors = np.linalg.eigh(spread)
    axes = np.sqrt(np.maximum(values, 0.0) / max(float(np.mean(values)), 1e-300))
    return Ellipsoid(vectors * axes, rho)


@dataclass(frozen=True)
class Method:
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
    counts = np.bincount(y)
    keep = np.flatnonzero(counts[y] >= 5)  # classes of which a split would leave nothing
    X, y = X[keep], y[keep]
    if len(y) > MAX_SAMPLES:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_SAMPLES, stratify=y, random_state=seed)
        keep = np.flatnonzero(np.bincount(y)[y] >= 3)
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
            yield Measurement(
                dataset=dataset,
                seed=seed,
                size=size,
                rho=rho,
                method=name,
                clean=float(np.mean(correct)),
                noisy_test=float(model.score(moved_test, y_test)),
                noisy_train=float(on_noise.score(X_test, y_test)),
                certified=float(np.mean(correct & (model.certified_radius(X_test) >= rho))),
                attacked=float(np.mean(correct & (model.nearest_adversarial(X_test)[1] > rho))),
            )


def fit(name: str, rho: float, X: Array, y: np.ndarray) -> HyperbolicSVC:
    """The classifier of a method, fitted; one-vs-one."""
    method = METHODS[name]
    model = HyperbolicSVC(
        C=method.C,
        solver=method.solver,
        solver_options=PGD if method.solver == "pgd" else None,
        uncertainty=None if method.uncertainty is None else method.uncertainty(rho, X),
        tol=1e-4,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)
