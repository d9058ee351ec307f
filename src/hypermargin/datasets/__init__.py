"""Data: generators (`make_*`), a graph embedded here (`load_*`) and the paper's embeddings (`fetch_*`).

Each returns a scikit-learn `Bunch` with ``X`` (Lorentz coordinates, curvature -1), ``y`` (integers 0, 1, ...) and
``description``, or the pair ``(X, y)`` with ``return_X_y=True``.
"""

from hypermargin.datasets.embeddings import fetch_embedding, list_embeddings, load_karate
from hypermargin.datasets.gaussian import make_gaussian_mixture
from hypermargin.datasets.trees import make_taxonomy, make_tree

__all__ = ["fetch_embedding", "list_embeddings", "load_karate", "make_gaussian_mixture", "make_taxonomy", "make_tree"]
