"""`HyperbolicClassifierCV`, which chooses among all classifiers here and their parameters by cross-validation."""

from hypermargin.estimators.auto.classifier_cv import HyperbolicClassifierCV

__all__ = ["HyperbolicClassifierCV"]
