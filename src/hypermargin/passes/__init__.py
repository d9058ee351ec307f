"""Where samples live, and how they are asked: memory, files read in chunks, other array libraries, a cluster.

The exact method asks the data one kind of question, and the checker of its certificates two or three. Questions travel
to the samples, and only small answers come back (`home.Home`). docs/large-data.md says which array suits which size.
"""

from hypermargin.passes.home import Home, Resident, Streamed
from hypermargin.passes.sources import ArrayChunks, CsvFile, ParquetFile, Source
from hypermargin.passes.spread import SpreadProblem

__all__ = ["ArrayChunks", "CsvFile", "Home", "ParquetFile", "Resident", "Source", "SpreadProblem", "Streamed"]
