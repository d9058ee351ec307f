"""Trees and forests whose splits are hyperplanes and curves of hyperbolic space."""

from hypermargin.estimators.forest.classifiers import HyperbolicForestClassifier, HyperbolicTreeClassifier

__all__ = ["HyperbolicForestClassifier", "HyperbolicTreeClassifier"]
