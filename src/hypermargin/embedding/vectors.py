"""Vectors that others trained: gensim's keyed vectors as points and their names."""

from typing import Any

import numpy as np

from hypermargin.arrays import Array


def keyed_vectors(source: Any) -> tuple[Array, list[str]]:
    """Coordinates, shape (n, d), and words, of gensim's `KeyedVectors` or of a model that has them as ``kv`` or ``wv``.

    ``PoincareModel.kv`` holds coordinates of the Poincaré ball: fit with ``geometry="poincare"``.
    """
    for name in ("kv", "wv"):
        source = getattr(source, name, source)
    vectors, words = getattr(source, "vectors", None), getattr(source, "index_to_key", None)
    if vectors is None or words is None:
        raise TypeError(
            f"expected gensim's KeyedVectors, or a model with them, got {type(source).__name__}; a file is read by "
            "gensim.models.KeyedVectors.load"
        )
    return np.asarray(vectors, dtype=np.float64), [str(word) for word in words]
