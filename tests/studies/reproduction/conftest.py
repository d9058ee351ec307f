"""Records of cells made by hand."""

import pytest


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
