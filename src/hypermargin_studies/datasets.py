"""The data sets of the studies by name: the thirteen embeddings, three Gaussian mixtures, and the Gaussian grid."""

import hashlib
import re
from functools import cache, lru_cache

import numpy as np
from sklearn.model_selection import StratifiedKFold

from hypermargin.arrays import Array
from hypermargin.datasets import fetch_embedding, list_embeddings, make_gaussian_mixture

#: Classes, scale and seed of the paper's Gaussians. The paper does not say which draws it selected. These were found
#: among 60 seeds at each of its four scales by the accuracies of its SDP. On the first, accuracy, deviation and eta
#: agree to every digit printed: it is the paper's. On the others only the SDP's accuracy agrees, perhaps by chance.
#: Folds take the seed of the data.
GAUSSIANS = {"gaussian_1": (2, 1.0, 2), "gaussian_2": (3, 0.6, 23), "gaussian_3": (5, 0.6, 39)}
TREES = ("tree_1", "tree_2", "tree_3")
SYNTHETIC = (*GAUSSIANS, *TREES)
GRAPHS = ("football", "karate", "polbooks")
CELLS = ("krumsiek", "moignard", "olsson", "paul", "myeloidprogenitors")
IMAGES = ("cifar", "fashion-mnist")
REAL = (*GRAPHS, *CELLS, *IMAGES)
#: The name for all draws of the Gaussian grid together.
GRID = "grid"
GRID_CLASSES, GRID_SCALES, GRID_C, GRID_SEEDS = (2, 5), (0.4, 1.0), (0.1, 10.0), tuple(range(1, 16))
N_FOLDS = 5
_GRID_NAME = re.compile(r"grid_K(\d+)_s([\d.]+)_seed(\d+)")


def grid_name(n_classes: int, scale: float, seed: int) -> str:
    """The name of one draw of the Gaussian grid."""
    return f"grid_K{n_classes}_s{scale:g}_seed{seed}"


def grid_parameters(name: str) -> tuple[int, float, int] | None:
    """Classes, scale and seed of a draw of the Gaussian grid; None for other names."""
    match = _GRID_NAME.fullmatch(name)
    return None if match is None else (int(match[1]), float(match[2]), int(match[3]))


@lru_cache(maxsize=8)
def load(name: str) -> tuple[Array, np.ndarray]:
    """Lorentz points, shape (n, 3), and labels 0, 1, ..., shape (n,)."""
    drawn = GAUSSIANS.get(name) or grid_parameters(name)
    if drawn is not None:
        n_classes, scale, seed = drawn
        return make_gaussian_mixture(100, n_classes, scale=scale, random_state=seed, return_X_y=True)
    if name in list_embeddings():
        return fetch_embedding(name, return_X_y=True)
    raise ValueError(f"unknown data set {name!r}; the data sets are {', '.join((*SYNTHETIC, *REAL))}")


def fold_seed(name: str) -> int:
    """The seed of the folds: 0, and for Gaussians that of the data, as in the paper's public code."""
    drawn = GAUSSIANS.get(name) or grid_parameters(name)
    return 0 if drawn is None else drawn[2]


def fold(name: str, number: int) -> tuple[Array, np.ndarray, Array, np.ndarray]:
    """Training points and labels, then test points and labels, of one of the paper's five folds."""
    X, y = load(name)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=fold_seed(name))
    train, test = list(folds.split(X, y))[number]
    return X[train], y[train], X[test], y[test]


def digest_of(X: Array, y: np.ndarray) -> str:
    """SHA-256 of points and labels, which results depend on.

    Points go in with their space coordinates, in single precision: the time coordinate follows from them, and the last
    bits depend on the library's arithmetic, not on the data.
    """
    return hashlib.sha256(np.ascontiguousarray(X[:, 1:], dtype="<f4").tobytes() + y.astype("<i8").tobytes()).hexdigest()


@cache
def digest(name: str) -> str:
    """`digest_of` the data set called `name`."""
    return digest_of(*load(name))


@cache
def class_sizes(name: str) -> tuple[int, ...]:
    """Samples of each class."""
    return tuple(np.bincount(load(name)[1]).tolist())
