"""The cells of the measurement: which there are, how one is run, and what is measured of it."""

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold

from hypermargin import __version__
from hypermargin.arrays import Array
from hypermargin.datasets import list_embeddings, make_taxonomy
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import lift
from hypermargin_studies.accuracy.contestants import CHOSEN_ON, OURS, PEERS, features_for, fitted_ours, fitted_peer
from hypermargin_studies.datasets import load as load_by_name
from hypermargin_studies.engine import cells as engine

#: Changes when what a cell records changes.
RECORD_FORMAT = 1
OUTER_FOLDS = 5
#: Small data is split anew until this many samples were tested, but so often at most: a fold of it says little.
ENOUGH_TESTED, MOST_REPETITIONS = 500, 5
#: Of larger data one fold is measured: the error of its score is below half a percent.
LARGE = 20_000
#: How far the random isometry moves the origin.
RADIUS = 2.0
#: The name under which all of ours are fitted together.
TOGETHER = "ours"
METRICS = ("accuracy", "macro F1", "average precision", "log loss", "seconds")
_TAXONOMY = re.compile(r"taxonomy_(\d+)_([\d.]+)_seed(\d+)")


def taxonomy_name(n_nodes: int, share: float, seed: int) -> str:
    """The name of a taxonomy whose label is a subtree with this share of the nodes."""
    return f"taxonomy_{n_nodes}_{share:g}_seed{seed}"


#: Taxonomies of the measurement, whose seeds nothing here was chosen on.
TAXONOMIES = tuple(taxonomy_name(3000, share, seed) for seed in (200, 201) for share in (0.1, 0.03, 0.01))


#: What is measured unless told otherwise: the paper's thirteen embeddings, and the taxonomies.
DEFAULT_DATASETS = (*list_embeddings(), *TAXONOMIES)


@lru_cache(maxsize=4)
def load(name: str) -> tuple[Array, np.ndarray]:
    """Lorentz points, shape (n, d + 1), and labels 0, 1, ..., shape (n,)."""
    match = _TAXONOMY.fullmatch(name)
    if match is None:
        return load_by_name(name)
    return make_taxonomy(int(match[1]), positive_fraction=float(match[2]), random_state=int(match[3]), return_X_y=True)


def scoring_of(name: str) -> str:
    """What parameters are chosen by: for a rare class average precision, since accuracy would say nothing."""
    return "average_precision" if _TAXONOMY.fullmatch(name) else "accuracy"


def moved(X: Array, seed: int) -> Array:
    """Lorentz points after a random isometry: a rotation, and a move of the origin by `RADIUS`."""
    rng = np.random.default_rng(seed)
    d = X.shape[1] - 1
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    direction = rng.normal(size=d)
    target = lift(np.sinh(RADIUS) * direction / np.linalg.norm(direction))
    turned = np.column_stack([X[:, 0], X[:, 1:] @ rotation.T])
    return lift((turned @ boost(target).T)[:, 1:])


@dataclass(frozen=True)
class Cell(engine.Cell):
    """A data set, where it lies, a contestant (a peer, or `TOGETHER` for all of ours), and an outer fold."""

    RESULT: ClassVar[str] = "measures"
    dataset: str
    contestant: str
    is_moved: bool
    repetition: int
    fold: int

    def content(self) -> dict[str, Any]:
        X, y = load(self.dataset)
        data = hashlib.sha256(np.ascontiguousarray(X[:, 1:], dtype="<f4").tobytes() + y.astype("<i8").tobytes())
        peer = None if self.contestant == TOGETHER else [PEERS[self.contestant].features, PEERS[self.contestant].grid]
        content = {**asdict(self), "data": data.hexdigest(), "peer": peer, "version": __version__}
        content |= {"format": RECORD_FORMAT}
        if peer is not None and _train_size(len(y)) > CHOSEN_ON:
            content["chosen_on"] = CHOSEN_ON
        return content

    def in_words(self) -> str:
        return f"{self.dataset}{' moved' if self.is_moved else ''}, {self.contestant}, fold {self.fold + 1}"


def _train_size(n_samples: int) -> int:
    return n_samples - n_samples // OUTER_FOLDS


def splits(n_samples: int, repetitions: int | None = None, folds: int | None = None) -> list[tuple[int, int]]:
    """Repetitions and outer folds to measure on data of this size, in this order, unless their numbers are given."""
    if repetitions is None:
        repetitions = min(MOST_REPETITIONS, max(1, ENOUGH_TESTED // n_samples))
    if folds is None:
        folds = 1 if n_samples > LARGE else OUTER_FOLDS
    return [(repetition, fold) for repetition in range(repetitions) for fold in range(folds)]


def plan(
    datasets: Sequence[str],
    contestants: Sequence[str],
    *,
    with_moved: bool,
    repetitions: int | None = None,
    folds: int | None = None,
) -> list[Cell]:
    """All cells: a fold of every data set before the next fold, and data as it lies before data that was moved.

    So a run that is ended early has compared all contestants on as many data sets as it could. Small sets come first.
    `contestants` are peers, and `TOGETHER` for all of ours. Moved data is measured once, whatever the repetitions.
    """
    sizes = sorted((len(load(name)[1]), name) for name in datasets)
    rounds = {name: splits(size, repetitions, folds) for size, name in sizes}
    return [
        Cell(name, contestant, is_moved, *rounds[name][k])
        for is_moved in ((False, True) if with_moved else (False,))
        for k in range(max(map(len, rounds.values())))
        for _, name in sizes
        if k < len(rounds[name]) and not (is_moved and rounds[name][k][0])
        for contestant in contestants
    ]


def contestants(cell: Cell) -> tuple[str, ...]:
    """Who is measured in a cell."""
    return OURS if cell.contestant == TOGETHER else (cell.contestant,)


def run_cell(cell: dict[str, Any], device: str | None = None) -> dict[str, dict[str, float]]:
    """Fit and measure one cell, given in its plain form: metrics by contestant. None of them uses a device."""
    own = Cell(**cell)
    X, y = load(own.dataset)
    if own.is_moved:
        X = moved(X, own.repetition)
    folds = StratifiedKFold(OUTER_FOLDS, shuffle=True, random_state=own.repetition)
    train, test = list(folds.split(X, y))[own.fold]
    scoring = scoring_of(own.dataset)
    found: dict[str, dict[str, float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if own.contestant == TOGETHER:
            for name, model, seconds in fitted_ours(X[train], y[train], scoring):
                found[name] = {**measures(model, X[test], y[test], np.unique(y)), "seconds": seconds}
                if name == "auto":
                    found[name]["chosen"] = model.explanation_
        else:
            Z = features_for(own.contestant, X)
            model, seconds = fitted_peer(own.contestant, Z[train], y[train], scoring)
            found[own.contestant] = {**measures(model, Z[test], y[test], np.unique(y)), "seconds": seconds}
    return found


def measures(model: Any, X: Array, y: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """Test scores of a fitted classifier; None where it has no probabilities or no scores to rank by.

    Average precision of many classes is the mean over those that the test samples have.
    """
    predicted = model.predict(X)
    found: dict[str, Any] = {
        "accuracy": float(accuracy_score(y, predicted)),
        "macro F1": float(f1_score(y, predicted, average="macro", zero_division=0.0)),
        "average precision": None,
        "log loss": None,
    }
    probability = None
    if hasattr(model, "predict_proba"):
        probability = np.zeros((len(X), classes.size))
        probability[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
        found["log loss"] = float(log_loss(y, probability, labels=classes))
    ranking = probability
    if ranking is None and hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        ranking = np.full((len(X), classes.size), -np.inf)
        ranking[:, np.searchsorted(classes, model.classes_)] = scores
    if ranking is not None:
        which = [1] if classes.size == 2 else [k for k, c in enumerate(classes) if np.any(y == c)]
        lowest = np.nextafter(np.min(ranking[np.isfinite(ranking)], initial=0.0), -np.inf)
        values = np.where(np.isfinite(ranking), ranking, lowest)
        found["average precision"] = float(
            np.mean([average_precision_score(y == classes[k], values[:, k]) for k in which])
        )
    return found
