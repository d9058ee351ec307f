"""The cells of a run on a Dask cluster: the same numbers as here, and an order that does not matter."""

import pytest

from hypermargin_studies.engine.runner import run_cells
from hypermargin_studies.reproduction.cells import Cell
from hypermargin_studies.reproduction.methods import METHODS

distributed = pytest.importorskip("distributed", reason="needs the extra hypermargin[cluster]")


@pytest.fixture(scope="module")
def address():
    """A scheduler and one worker with two threads, in processes of their own."""
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.filterwarnings("ignore")  # the package's own are not ours to mend
def test_a_cluster_gives_the_same_results(address):
    cells = [Cell.of("gaussian_1", "ovr", 10.0, METHODS[name], (0, 1)) for name in ("exact", "svm-lorentz", "sdp")]
    there = {cell: record["folds"] for cell, record in run_cells(cells, jobs=1, limit=60.0, dask=address)}
    here = {cell: record["folds"] for cell, record in run_cells(cells, jobs=1, limit=60.0)}
    assert set(there) == set(cells)
    for cell in cells:
        for one, other in zip(there[cell], here[cell], strict=True):
            assert {**one, "seconds": 0.0} == {**other, "seconds": 0.0}


@pytest.mark.filterwarnings("ignore")
def test_a_failure_on_the_cluster_is_a_labelled_hole(address):
    bad = Cell.of("gaussian_1", "ovr", -1.0, METHODS["exact"], (0,))
    ((_, record),) = run_cells([bad], jobs=1, limit=60.0, dask=address)
    assert record["state"] == "failed"
    assert "C must be positive" in record["reason"]
