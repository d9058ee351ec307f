"""What searches ask of the scorers of scikit-learn."""

from collections.abc import Callable
from inspect import signature


def takes_weights(scorer: Callable) -> bool:
    """Whether a scorer can be called with sample_weight; those of scikit-learn know it of their metric."""
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    parameters = signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
