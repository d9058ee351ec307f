"""The cells of the measurement: who is compared, on which data, how one cell is run, and what is measured of it.

The contestants are the models of this package, and peers as a practitioner would tune them with the same care. Every
contestant chooses its parameters inside the training samples only, by stratified folds and by the same score.
"""

import importlib.util
import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hypermargin import __version__
from hypermargin.arrays import Array
from hypermargin.datasets import list_embeddings, make_taxonomy
from hypermargin.estimators import HyperbolicClassifierCV
from hypermargin.estimators.auto.verdict import moved_at_random
from hypermargin.geometry.models import from_lorentz
from hypermargin_studies.datasets import digest_of
from hypermargin_studies.datasets import load as load_by_name
from hypermargin_studies.engine import cells as engine

#: Folds inside the training samples that choose the parameters of peers.
INNER_FOLDS = 5
#: The most samples on which peers choose their parameters; the last fit is on all. A grid of SVMs takes minutes then.
CHOSEN_ON = 5000
#: Weights of the risk that peers may choose from, the same as ours.
CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
#: Trees of peers that have trees, while parameters are chosen and in the end: as many as ours.
TREES, FINAL_TREES = 100, 200
#: Steps of libsvm at most: a large C on classes that overlap takes millions, without being more accurate.
STEPS = 500_000
#: Our models, which are fitted together because the one that chooses tries all others.
OURS = ("auto", "geodesic", "curve", "neighbours", "kernel", "forest")


@dataclass(frozen=True)
class Peer:
    """A classifier of others: the coordinates it sees, the parameters it chooses from, and the package it needs."""

    features: str
    build: Callable[[], Any]
    grid: dict[str, list[Any]]
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        return self.package is None or importlib.util.find_spec(self.package) is not None


class HyperbolicForestOfOthers(ClassifierMixin, BaseEstimator):
    """`HyperbolicRandomForestClassifier` of the package hyperdt, made anew for every fit: it ignores `set_params`."""

    def __init__(self, n_estimators: int = TREES, max_depth: int = 3):
        self.n_estimators = n_estimators
        self.max_depth = max_depth

    def fit(self, X, y) -> "HyperbolicForestOfOthers":
        from hyperdt.ensemble import HyperbolicRandomForestClassifier

        self.forest_ = HyperbolicRandomForestClassifier(
            n_estimators=self.n_estimators, max_depth=self.max_depth, n_jobs=1, random_state=0
        ).fit(np.asarray(X), np.asarray(y))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X) -> np.ndarray:
        return np.asarray(self.forest_.predict(np.asarray(X)))

    def predict_proba(self, X) -> Array:
        return np.asarray(self.forest_.predict_proba(np.asarray(X)))


LEAVES = {"min_samples_leaf": [1, 5, 15]}
PEERS: dict[str, Peer] = {
    "linear SVM": Peer("lorentz", lambda: SVC(kernel="linear", max_iter=STEPS), {"C": CS}),
    "RBF SVM, tangent": Peer(
        "tangent",
        lambda: make_pipeline(StandardScaler(), SVC(max_iter=STEPS)),
        {"svc__C": CS, "svc__gamma": [0.1, 0.5, 2.0, 10.0]},
    ),
    "logistic regression": Peer(
        "lorentz",
        lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        {"logisticregression__C": CS},
    ),
    "neighbours, disk": Peer(
        "poincare", KNeighborsClassifier, {"n_neighbors": [5, 15, 45], "weights": ["uniform", "distance"]}
    ),
    "random forest, disk": Peer("poincare", lambda: RandomForestClassifier(TREES, random_state=0), LEAVES),
    "random forest, tangent": Peer("tangent", lambda: RandomForestClassifier(TREES, random_state=0), LEAVES),
    "extra trees, tangent": Peer("tangent", lambda: ExtraTreesClassifier(TREES, random_state=0), LEAVES),
    "gradient boosting, tangent": Peer(
        "tangent",
        lambda: HistGradientBoostingClassifier(max_iter=50, early_stopping=False, random_state=0),
        {"max_leaf_nodes": [4, 15], "min_samples_leaf": [5, 20]},
    ),
    "hyperdt": Peer("lorentz", HyperbolicForestOfOthers, {"max_depth": [3, 10]}, package="hyperdt"),
}


def features_for(name: str, X: Array) -> Array:
    """Lorentz points, shape (n, d + 1), in the coordinates that a contestant sees."""
    if name in OURS:
        return X
    return from_lorentz(X, PEERS[name].features)


def fitted_ours(X: Array, y: np.ndarray, scoring: str) -> Iterator[tuple[str, Any, float]]:
    """Each of our models, fitted, with the seconds of its search and its fit.

    The one that chooses tries all families; each of the others is the best candidate of its family on the same folds.
    """
    clock = time.process_time
    began = clock()
    auto = HyperbolicClassifierCV(scoring=scoring).fit(X, y)
    yield "auto", auto, clock() - began
    table = auto.cv_results_
    # By the scores of the first round where a family was left out after it.
    order = np.lexsort((-table["screening_score"], -np.nan_to_num(table["mean_test_score"], nan=-np.inf))).tolist()
    for family in OURS[1:]:
        own = [i for i in order if table["family"][i] == family]
        seconds = float(sum(table["seconds"][i] for i in own))
        began = clock()
        model = HyperbolicClassifierCV({family: [table["params"][own[0]]]}, cv=2).fit(X, y)
        yield family, model, seconds + clock() - began


def fitted_peer(name: str, X: Array, y: np.ndarray, scoring: str) -> tuple[Any, float]:
    """A peer with parameters chosen by folds of the samples (in its own coordinates), and the seconds it took."""
    peer = PEERS[name]
    folds = min(INNER_FOLDS, max(2, int(np.bincount(y).max())))
    search = GridSearchCV(
        peer.build(), peer.grid, scoring=scoring, cv=StratifiedKFold(folds, shuffle=True, random_state=0)
    )
    began = time.process_time()
    few = _some(y)
    search.fit(X[few], y[few])
    model = search.best_estimator_
    trees = {"n_estimators": FINAL_TREES} if "n_estimators" in model.get_params() else {}
    if trees or len(few) < len(y):
        model = clone(model).set_params(**trees).fit(X, y)
    return model, time.process_time() - began


def _some(y: np.ndarray) -> np.ndarray:
    """Indices of at most `CHOSEN_ON` samples, with the classes in the same shares."""
    if len(y) <= CHOSEN_ON:
        return np.arange(len(y))
    return train_test_split(np.arange(len(y)), train_size=CHOSEN_ON, stratify=y, random_state=0)[0]


# -- cells -------------------------------------------------------------------------------------------------------------

#: Changes when what a cell records changes.
RECORD_FORMAT = 1
OUTER_FOLDS = 5
#: Small data is split anew until this many samples were tested, but so often at most: a fold of it says little.
ENOUGH_TESTED, MOST_REPETITIONS = 500, 5
#: Of larger data one fold is measured: the error of its score is below half a percent.
LARGE = 20_000
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
        peer = None if self.contestant == TOGETHER else [PEERS[self.contestant].features, PEERS[self.contestant].grid]
        content = {**asdict(self), "data": digest_of(X, y), "peer": peer, "version": __version__}
        content |= {"format": RECORD_FORMAT}
        if peer is not None and len(y) - len(y) // OUTER_FOLDS > CHOSEN_ON:  # those that are trained on
            content["chosen_on"] = CHOSEN_ON
        return content

    def in_words(self) -> str:
        return f"{self.dataset}{' moved' if self.is_moved else ''}, {self.contestant}, fold {self.fold + 1}"


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
        X = moved_at_random(X, own.repetition)
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
    columns, ranking = np.searchsorted(classes, model.classes_), None
    if hasattr(model, "predict_proba"):
        ranking = np.zeros((len(X), classes.size))
        ranking[:, columns] = model.predict_proba(X)
        found["log loss"] = float(log_loss(y, ranking, labels=classes))
    elif hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        ranking = np.full((len(X), classes.size), np.nextafter(scores.min(), -np.inf))
        ranking[:, columns] = scores
    if ranking is not None:
        which = [1] if classes.size == 2 else [k for k, c in enumerate(classes) if np.any(y == c)]
        found["average precision"] = float(average_precision_score(y[:, None] == classes[which], ranking[:, which]))
    return found
