"""Curvature ``-c``: what ``c`` may be, and the one factor, ``sqrt(c)``, that leads to the unit hyperboloid and back."""

import numpy as np


def curvature_scale(curvature: float) -> float:
    """``sqrt(c)``, the factor that takes lengths of the space of curvature ``-c`` to lengths of curvature -1."""
    c = float(curvature)
    if not (np.isfinite(c) and c > 0.0):
        raise ValueError(
            f"curvature must be a positive finite number c (the space then has curvature -c), got {curvature!r}"
        )
    return float(np.sqrt(c))
