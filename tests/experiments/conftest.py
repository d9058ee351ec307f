"""Where the paper's data is, and records of cells made by hand."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def paper_data():
    """Skip where the paper's embeddings are absent."""
    folder = Path(os.environ.get("HYPERMARGIN_DATA", "absent"))
    if not (folder / "polbooks").is_dir():
        pytest.skip("needs the paper's embeddings: set HYPERMARGIN_DATA to the folder that holds them")
    return folder


@pytest.fixture
def one_fold():
    """A function that makes the record of a fold of a margin method by hand."""

    def make(fold, accuracy, objectives, bounds, **more):
        finite = [value for value in objectives if value is not None]
        record = {
            "fold": fold,
            "seconds": 0.5,
            "objective_hinge": objectives,
            "objective_asinh": objectives,
            "lower_bound": bounds,
            "train_hinge": sum(finite) if len(finite) == len(objectives) else None,
            "statuses": {"OPTIMAL": len(objectives)},
            "w": [[0.0, 1.0, 0.0, 0.0]] * len(objectives),
            "eta": None,
        }
        for part in ("train", "test"):
            record |= {f"{part}_accuracy": accuracy, f"{part}_f1": accuracy - 0.01}
        return (
            record
            | {f"{p}_{loss}": 1.0 for p, loss in (("test", "hinge"), ("train", "asinh"), ("test", "asinh"))}
            | more
        )

    return make
