"""What searches ask of the scorers of scikit-learn."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer


def takes_weights(scorer: Callable) -> bool:
    """Whether a scorer can be called with sample_weight; those of scikit-learn know it of their metric."""
    if hasattr(scorer, "_accept_sample_weight"):
        return bool(scorer._accept_sample_weight())
    parameters = signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


def positive_class(scoring: Any, wanted: Any, classes: np.ndarray, labels: np.ndarray) -> tuple[Any, str]:
    """The class that a score by this name is about, and words that say why; None where the score is about all classes.

    Parameters
    ----------
    wanted
        The class that the user names; None for the rarer of two, or, if they are equally frequent, the last.
    labels : (n,) array of int
        Indices into `classes`.
    """
    if not _has_positive_class(scoring):
        if wanted is None:
            return None, ""
        raise ValueError(
            "pos_label is for scores of one of two classes, such as 'average_precision' and 'f1'; "
            f"got scoring={scoring!r}"
        )
    if wanted is None and classes.size == 2:
        counts = np.bincount(labels, minlength=2)
        chosen = classes[int(counts[1] <= counts[0])]
        why = "the last of two equally frequent ones" if counts[0] == counts[1] else "the rarer one"
        return chosen, f"positive class {chosen}, {why}"
    if wanted is None:
        return None, ""
    if classes.size != 2:
        raise ValueError(f"pos_label is for two classes, but y has {classes.size}")
    if wanted not in classes.tolist():
        raise ValueError(f"pos_label is {wanted!r}, but the classes are {classes.tolist()}")
    return classes[classes.tolist().index(wanted)], f"positive class {wanted}"


def _has_positive_class(scoring: Any) -> bool:
    """Whether the score that scikit-learn has by this name measures how well one of two classes is found."""
    if not isinstance(scoring, str):
        return False
    scorer = get_scorer(scoring)
    is_binary = scorer._kwargs.get("average", "binary") == "binary"
    return "likelihood_ratio" in scoring or ("pos_label" in signature(scorer._score_func).parameters and is_binary)
