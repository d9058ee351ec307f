"""Labels that a file holds as text."""

import numpy as np

#: What stands for a missing label in text.
MISSING = frozenset(("", "nan", "NaN", "NA", "<NA>", "None", "null"))


def as_labels(texts: list[str]) -> np.ndarray:
    """Integers where all labels are (``1.0``, as pandas writes integers beside missing ones, is one), else strings."""
    try:
        numbers = [float(text) for text in texts]
        if all(number.is_integer() and abs(number) < 2**53 for number in numbers):
            return np.array([int(number) for number in numbers])
    except ValueError:
        pass
    return np.array(texts, dtype=str)
