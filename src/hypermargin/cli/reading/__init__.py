"""Reading points from files of any kind (`files`), whose columns are found (`columns`)."""

from hypermargin.cli.reading.columns import Points
from hypermargin.cli.reading.files import FORMATS, read_points

__all__ = ["FORMATS", "Points", "read_points"]
