"""What a user may pass as X: which of it comes in several blocks, and how it becomes a source of rows."""

from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_cupy_array, is_numpy_array, is_torch_array

from hypermargin.data.cluster import dask_source, is_dask
from hypermargin.data.executors import SHARE_OF_MEMORY, DataSource, InMemory, OutOfCore, free_memory
from hypermargin.data.readers import ArrayChunks, Rows, Source, TableFile, check_lengths, open_table


def is_on_device(X: Any) -> bool:
    """Whether X is an array in the memory of a graphics card."""
    return is_cupy_array(X) or (is_torch_array(X) and X.device.type != "cpu")


def is_collection(X: Any) -> bool:
    """Whether X is the name of a file, a source of chunks, or a Dask collection, none of which is read whole."""
    return isinstance(X, str | Path | Source) or is_dask(X)


def is_blocked(X: Any) -> bool:
    """Whether X is no array in memory: a file, a source of chunks, a large memory map, a device, a cluster."""
    if is_collection(X) or is_on_device(X):
        return True
    return isinstance(X, np.memmap) and X.nbytes > SHARE_OF_MEMORY * free_memory()


def opened(X: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """X, with a path opened and a memory map in chunks; y and weights of a file are names of columns."""
    if isinstance(X, str | Path):
        X = open_table(X)
    if isinstance(X, TableFile):
        return X.labelled(y, sample_weight) if y is not None and X.label is None else X
    return ArrayChunks(X) if isinstance(X, np.memmap) else X


def data_source(X: Any, y: Any = None, sample_weight: Any = None) -> DataSource:
    """The rows of anything that `is_blocked`, with labels and weights where they are given."""
    if isinstance(X, str | Path | TableFile):
        for name, column in (("y", y), ("sample_weight", sample_weight)):
            if column is not None and not isinstance(column, str):
                path = getattr(X, "path", X)
                raise TypeError(f"{name} must be the name of a column of {path}, got {type(column).__name__}")
    X = opened(X, y, sample_weight)
    if is_dask(X):
        return dask_source(X, y, sample_weight)
    if isinstance(X, ArrayChunks):
        check_lengths(X.X.shape[0], y, sample_weight)
        return OutOfCore(X if y is None else X.labelled(y, sample_weight))
    if isinstance(X, Source):
        return OutOfCore(X)
    check_lengths(X.shape[0], y, sample_weight)
    return InMemory([Rows(X, *(None if v is None else _beside(X, v) for v in (y, sample_weight)))])


def _beside(X: Any, values: Any) -> Any:
    """Labels or weights on the device of X."""
    values = values if hasattr(values, "shape") else np.asarray(values)
    if is_array_api_obj(values) and not is_numpy_array(values):
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        return array  # text stays here; its codes go to the device
    return array_namespace(X).asarray(np.ascontiguousarray(array), device=device(X))


def column_names(X: Any, y: Any = None, sample_weight: Any = None) -> list[str] | None:
    """The names of the columns of coordinates, where X is a table with names."""
    if isinstance(X, str | Path | TableFile):
        return opened(X, y, sample_weight).names
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None
