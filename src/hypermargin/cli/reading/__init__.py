"""Reading points from files of any kind (`files`), whose columns are found (`columns`)."""

from hypermargin.cli.reading.files import FORMATS, read_points
from hypermargin.cli.reading.points import Points

__all__ = ["FORMATS", "Points", "read_points"]
