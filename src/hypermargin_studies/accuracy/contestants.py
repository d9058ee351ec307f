"""Who is compared: the models of this package, and peers as a practitioner would tune them with the same care.

Every contestant chooses its parameters inside the training samples only, by stratified folds and by the same score.
"""

import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hypermargin.arrays import Array
from hypermargin.estimators import HyperbolicClassifierCV
from hypermargin.geometry.models import from_lorentz

#: Folds inside the training samples that choose the parameters of peers.
INNER_FOLDS = 5
#: The most samples on which peers choose their parameters; the last fit is on all of them.
CHOSEN_ON = 5000
#: Weights of the risk that peers may choose from, the same as ours.
CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
#: Trees of peers that have trees, while parameters are chosen and in the end: as many as ours.
TREES, FINAL_TREES = 100, 200
#: Steps of libsvm at most; large C on classes that overlap would take for ever.
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
    order = np.argsort(table["rank_test_score"], kind="stable").tolist()
    for family in OURS[1:]:
        own = [i for i in order if table["family"][i] == family and np.isfinite(table["mean_test_score"][i])]
        if not own:
            continue
        seconds = float(sum(table["seconds"][i] for i in order if table["family"][i] == family))
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
