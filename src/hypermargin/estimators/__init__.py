"""Estimators: scikit-learn's interface to the solvers, and model files."""

import sys

from hypermargin.estimators.auto import HyperbolicClassifierCV
from hypermargin.estimators.coordinates import CoordinateTransformer
from hypermargin.estimators.cross_validation import HyperbolicSVCCV
from hypermargin.estimators.forest import HyperbolicForestClassifier, HyperbolicTreeClassifier
from hypermargin.estimators.kernel_fitting import KernelMemoryWarning, KernelSpreadWarning
from hypermargin.estimators.kernel_svc import HyperbolicKernelSVC
from hypermargin.estimators.model_file import load_model, save_model
from hypermargin.estimators.neighbours import HyperbolicKNeighborsClassifier
from hypermargin.estimators.one_class import HyperbolicOneClassSVM
from hypermargin.estimators.svc import HyperbolicSVC

__all__ = [
    "CoordinateTransformer",
    "HyperbolicClassifierCV",
    "HyperbolicForestClassifier",
    "HyperbolicKNeighborsClassifier",
    "HyperbolicKernelSVC",
    "HyperbolicOneClassSVM",
    "HyperbolicSVC",
    "HyperbolicSVCCV",
    "HyperbolicTreeClassifier",
    "KernelMemoryWarning",
    "KernelSpreadWarning",
    "load_model",
    "save_model",
]

#: Modules that public classes have moved from: pickles of earlier versions name them.
_MOVED = {
    "auto.blend": "auto.classifier_cv",
    "choice": "auto",
    "choice.blend": "auto.classifier_cv",
    "choice.classifier_cv": "auto.classifier_cv",
    "forest.forest_classifier": "forest.classifiers",
    "forest.tree_classifier": "forest.classifiers",
    "neighbours.classifier": "neighbours",
}
for _old, _new in _MOVED.items():
    sys.modules[f"{__name__}.{_old}"] = sys.modules[f"{__name__}.{_new}"]
