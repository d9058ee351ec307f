"""Nearest neighbours in hyperbolic space."""

from hypermargin.estimators.neighbours.classifier import HyperbolicKNeighborsClassifier

__all__ = ["HyperbolicKNeighborsClassifier"]
