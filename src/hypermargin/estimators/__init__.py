"""Estimators: scikit-learn's interface to the solvers, and model files."""

from hypermargin.estimators.svc import HyperbolicSVC

__all__ = ["HyperbolicSVC"]
