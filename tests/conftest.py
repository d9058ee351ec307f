"""Makes the independent judges of `tests/reference` importable as `reference`, wherever pytest is started from."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
