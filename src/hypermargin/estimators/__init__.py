"""Estimators: scikit-learn's interface to the solvers, and model files."""

from hypermargin.estimators.cross_validation import HyperbolicSVCCV
from hypermargin.estimators.forest import HyperbolicForestClassifier, HyperbolicTreeClassifier
from hypermargin.estimators.model_file import load_model, save_model
from hypermargin.estimators.neighbours import HyperbolicKNeighborsClassifier
from hypermargin.estimators.svc import HyperbolicSVC

__all__ = [
    "HyperbolicForestClassifier",
    "HyperbolicKNeighborsClassifier",
    "HyperbolicSVC",
    "HyperbolicSVCCV",
    "HyperbolicTreeClassifier",
    "load_model",
    "save_model",
]
