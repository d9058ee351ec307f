"""What every dataset function returns."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from hypermargin.geometry.lorentz import Array

Labels = NDArray[np.int64]
Dataset: TypeAlias = Bunch | tuple[Array, Labels]


def as_dataset(return_X_y: bool, *, X: Array, y: Labels, description: str, **extras: Any) -> Dataset:
    """``(X, y)`` where asked for, else a `Bunch` of everything."""
    return (X, y) if return_X_y else Bunch(X=X, y=y, description=description, **extras)
