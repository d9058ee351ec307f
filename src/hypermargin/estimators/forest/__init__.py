"""Trees and forests whose splits are hyperplanes and curves of hyperbolic space."""

from hypermargin.estimators.forest.forest_classifier import HyperbolicForestClassifier
from hypermargin.estimators.forest.tree_classifier import HyperbolicTreeClassifier

__all__ = ["HyperbolicForestClassifier", "HyperbolicTreeClassifier"]
