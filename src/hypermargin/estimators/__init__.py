"""Estimators: scikit-learn's interface to the solvers, and model files."""

from hypermargin.estimators.choice import HyperbolicClassifierCV
from hypermargin.estimators.cross_validation import HyperbolicSVCCV
from hypermargin.estimators.forest import HyperbolicForestClassifier, HyperbolicTreeClassifier
from hypermargin.estimators.kernel_fitting import KernelMemoryWarning
from hypermargin.estimators.kernel_svc import HyperbolicKernelSVC
from hypermargin.estimators.model_file import load_model, save_model
from hypermargin.estimators.neighbours import HyperbolicKNeighborsClassifier
from hypermargin.estimators.svc import HyperbolicSVC

__all__ = [
    "HyperbolicClassifierCV",
    "HyperbolicForestClassifier",
    "HyperbolicKNeighborsClassifier",
    "HyperbolicKernelSVC",
    "HyperbolicSVC",
    "HyperbolicSVCCV",
    "HyperbolicTreeClassifier",
    "KernelMemoryWarning",
    "load_model",
    "save_model",
]
