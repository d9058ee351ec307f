"""Reading points as people have them, without running code that a file may hold: one module per kind of file."""

from hypermargin.cli.reading.points import Points
from hypermargin.cli.reading.reader import FORMATS, read_points

__all__ = ["FORMATS", "Points", "read_points"]
