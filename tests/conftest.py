"""Makes the judges of `tests/reference` importable as `reference`, finds the paper's data, and has a browser."""

import os
import sys
from pathlib import Path

import pytest

from hypermargin import progress

sys.path.insert(0, str(Path(__file__).parent))

from reference.browser import EXECUTABLE, Browser

progress.INTERVAL = 600.0  # a busy machine makes short work long, and what is printed would depend on it


@pytest.fixture
def paper_data():
    """Skip where the paper's embeddings are absent."""
    folder = Path(os.environ.get("HYPERMARGIN_DATA", "absent"))
    if not (folder / "polbooks").is_dir():
        pytest.skip("needs the paper's embeddings: set HYPERMARGIN_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="session")
def chromium():
    if EXECUTABLE is None:
        pytest.skip("needs Chromium or Chrome on the path")
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(chromium):
    """The browser at laptop size, light, with animations at once; it must have had no reason to complain."""
    chromium.errors.clear()
    chromium.size(1200, 800)
    chromium.prefer(prefers_color_scheme="light", prefers_reduced_motion="reduce")
    yield chromium
    assert not chromium.errors
