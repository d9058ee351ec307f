"""Data: generators (`make_*`), a graph embedded here (`load_*`) and the paper's embeddings (`fetch_*`).

Each returns a scikit-learn `Bunch` with ``X`` (Lorentz coordinates, curvature -1), ``y`` (integers 0, 1, ...) and
``description``, or the pair ``(X, y)`` with ``return_X_y=True``.
"""

from hypermargin.datasets.embeddings import fetch_embedding, list_embeddings
from hypermargin.datasets.gaussian import make_gaussian_mixture
from hypermargin.datasets.karate import load_karate
from hypermargin.datasets.taxonomy import make_taxonomy
from hypermargin.datasets.tree import make_tree

__all__ = ["fetch_embedding", "list_embeddings", "load_karate", "make_gaussian_mixture", "make_taxonomy", "make_tree"]
