"""The public names of `hypermargin.data`: where samples may lie, and how they are read.

docs/large-data.md says which array suits which size.
"""

from hypermargin.data.blocked_problem import SpreadProblem
from hypermargin.data.executors import DataSource as Home
from hypermargin.data.executors import InMemory as Resident
from hypermargin.data.executors import OutOfCore as Streamed
from hypermargin.data.readers import ArrayChunks, CsvFile, ParquetFile, Source

__all__ = ["ArrayChunks", "CsvFile", "Home", "ParquetFile", "Resident", "Source", "SpreadProblem", "Streamed"]
