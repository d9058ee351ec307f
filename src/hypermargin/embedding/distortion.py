"""How well distances between points follow those they are meant to have."""

from dataclasses import dataclass

import numpy as np

from hypermargin.arrays import Array
from hypermargin.geometry.metric import distance


@dataclass(frozen=True)
class Distortion:
    """Over all pairs of points, with ``ratio = distance / (scale * wanted)``.

    Parameters
    ----------
    mean : float
        Of ``|ratio - 1|``: 0.1 says that distances are 10 % off on average.
    worst : float
        The largest ratio divided by the smallest; 1 is perfect. It does not depend on the scale.
    """

    mean: float
    worst: float

    def __str__(self) -> str:
        return f"distances are {self.mean:.1%} off on average, the worst distortion is {self.worst:.2f}"


def distortion(X: Array, distances: Array, scale: float = 1.0) -> Distortion:
    """Of Lorentz points, shape (n, d + 1), whose distances are to be `scale` times those given, shape (n, n)."""
    n, total, smallest, largest = len(X), 0.0, np.inf, 0.0
    if n < 2:
        return Distortion(0.0, 1.0)
    for i in range(n - 1):
        ratio = distance(X[i], X[i + 1 :]) / (scale * distances[i, i + 1 :])
        total += float(np.abs(ratio - 1.0).sum())
        smallest, largest = min(smallest, float(ratio.min())), max(largest, float(ratio.max()))
    return Distortion(2.0 * total / (n * (n - 1)), largest / smallest if smallest > 0.0 else float("inf"))
