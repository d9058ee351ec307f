"""Accuracies of the paper's data with the paper's folds; skipped where the data is absent."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from hypermargin.estimators import HyperbolicSVC

DATA = Path(os.environ.get("HYPERMARGIN_DATA", "absent"))
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def accuracy(name, **parameters):
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"needs the paper's {name} embedding: set HYPERMARGIN_DATA to the folder that holds it")
    X, y = np.load(folder / "X_lorentz.npy"), np.load(folder / "y.npy").ravel()
    return float(np.mean(cross_val_score(HyperbolicSVC(**parameters), X, y, cv=FOLDS)))


@pytest.mark.parametrize(("name", "least"), [("paul", 0.63), ("krumsiek", 0.85)])
def test_the_ambient_svm_one_vs_rest_with_platt_scaling(name, least):
    assert accuracy(name, solver="euclidean", multi_class="ovr", C=1.0) >= least


def test_karate_is_not_at_chance_because_its_uint8_labels_do_not_wrap_around():
    assert accuracy("karate", solver="pgd", solver_options={"epochs": 4000}) > 0.85
