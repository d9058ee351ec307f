"""``python -m hypermargin``, the same as ``hypermargin``."""

import sys

from hypermargin.cli import main

if __name__ == "__main__":
    sys.exit(main())
