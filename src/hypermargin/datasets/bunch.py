"""Shared by the dataset functions: how integers are checked, and the `Bunch` that is returned."""

from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from hypermargin.arrays import Array

Labels = NDArray[np.int64]
Dataset: TypeAlias = Bunch | tuple[Array, Labels]


def as_dataset(return_X_y: bool, *, X: Array, y: Labels, description: str, **extras: Any) -> Dataset:
    """``(X, y)``, or a `Bunch` of everything."""
    return (X, y) if return_X_y else Bunch(X=X, y=y, description=description, **extras)


def check_integer(value: object, name: str, minimum: int = 1) -> int:
    """`value` as an int of at least `minimum`, or a `ValueError` that names the argument."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return int(value)
