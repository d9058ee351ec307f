"""What a rule of the choice decides from, and what it is judged by: answers of our families, scores of peers.

They take nearly all of the time and do not depend on the rule: `choice_rules.py` keeps them on disk.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import get_scorer

from choice_data import task
from hypermargin.estimators import HyperbolicClassifierCV
from hypermargin.estimators.auto.choosing import Candidate, best_of_each_family
from hypermargin.estimators.auto.families import Samples
from hypermargin.estimators.auto.search import Search
from hypermargin.estimators.scoring import Answers, Scorer
from hypermargin_studies.accuracy.cells import features_for, fitted_peer

PEERS = (
    "RBF SVM, tangent",
    "logistic regression",
    "neighbours, disk",
    "random forest, disk",
    "extra trees, tangent",
)


@dataclass(frozen=True, eq=False)
class Material:
    """The best candidate of each family with its answers to the folds, and to the samples that are tested.

    `folds` are the rows of the folds among all samples, which `scorer` has; `test` the rows that no rule may see.
    """

    n_train: int
    members: list[Candidate]
    tested: list[Answers]
    folds: list[np.ndarray]
    test: np.ndarray
    scorer: Scorer
    peers: dict[str, float]


def material(name: str) -> Material:
    """Answers and scores for the data set of this name."""
    warnings.simplefilter("ignore")
    data = task(name)
    metric = None if data.scoring == "accuracy" else get_scorer(data.scoring)
    scorer = Scorer(metric, data.X, data.y, np.unique(data.y), None)
    samples = Samples(data.X, data.y, None)
    own = samples.take(data.train)
    chooser = HyperbolicClassifierCV(scoring=data.scoring)
    folds = chooser._folds(own, 0)
    own_scorer = Scorer(metric, own.X, own.labels, scorer.classes, None)
    # In one round, so that every family has answers to all folds.
    members = best_of_each_family(Search(own, own_scorer, 1).all_of(chooser._wanted(own, 0)[0], folds))
    tested = [each.family.answers([each.parameters], samples, [(data.train, data.test)])[0][0] for each in members]
    peers = {}
    for peer in PEERS:
        features = features_for(peer, data.X)
        model, _ = fitted_peer(peer, features[data.train], data.y[data.train], data.scoring)
        peers[peer] = float(get_scorer(data.scoring)(model, features[data.test], data.y[data.test]))
    tests = [data.train[test] for _, test in folds]
    return Material(len(data.train), members, tested, tests, data.test, scorer, peers)
