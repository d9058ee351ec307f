"""Parquet files, by pyarrow."""

import numpy as np

from hypermargin.cli.console import CommandError
from hypermargin.cli.reading.table import Table


def read_parquet(path: str) -> Table:
    """The columns of a Parquet file; the index that pandas stores is one of them."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise CommandError("reading .parquet needs the package pyarrow: pip install 'hypermargin[files]'") from error
    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise CommandError(f"{path} is not a Parquet file, or it is damaged") from error
    if table.num_rows == 0:
        raise CommandError(f"{path} has no rows")
    columns = [_values(table.column(k)) for k in range(table.num_columns)]
    return Table(path, list(table.column_names), columns, lambda row: f"row {row} (the first is 0)")


def _values(column) -> list | np.ndarray:
    """Numbers without gaps as an array, anything else as a list with None for what is missing."""
    import pyarrow

    if column.null_count == 0 and (pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)):
        return column.to_numpy()
    return column.to_pylist()
