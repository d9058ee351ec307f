"""Makes the judges of `tests/reference` importable as `reference`, and says where the paper's data is."""

import os
import sys
from pathlib import Path

import pytest

from hypermargin import progress

sys.path.insert(0, str(Path(__file__).parent))


progress.INTERVAL = 600.0  # a busy machine makes short work long, and what is printed would depend on it


@pytest.fixture
def paper_data():
    """Skip where the paper's embeddings are absent."""
    folder = Path(os.environ.get("HYPERMARGIN_DATA", "absent"))
    if not (folder / "polbooks").is_dir():
        pytest.skip("needs the paper's embeddings: set HYPERMARGIN_DATA to the folder that holds them")
    return folder
