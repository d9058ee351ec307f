"""Cells, cache and engine: right numbers, nothing lost by an interrupt, holes instead of crashes."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from hypermargin.datasets import by_name as data
from hypermargin_studies.engine import runner
from hypermargin_studies.engine.cells import FAILED, FINISHED, SKIPPED, TIMED_OUT, Cache
from hypermargin_studies.engine.runner import expected_seconds, run_missing
from hypermargin_studies.engine.worker import Answer, LimitedWorker
from hypermargin_studies.reproduction.cells import Cell, Selection, grid_groups, make_plan, table_groups
from hypermargin_studies.reproduction.methods import METHODS


def cell(method="svm-lorentz", folds=(0,), C=10.0, dataset="gaussian_1"):
    return Cell.of(dataset, "ovr", C, METHODS[method], folds)


def test_a_cell_measures_what_scikit_learn_measures():
    ((_, record),) = run_missing([cell(folds=(0, 1, 2, 3, 4))], _Nowhere(), jobs=1, limit=60.0)
    X, y = data.load("gaussian_1")
    folds = StratifiedKFold(5, shuffle=True, random_state=data.GAUSSIANS["gaussian_1"][2])
    for metric, scoring in (("test_accuracy", "accuracy"), ("test_f1", "f1_weighted")):
        expected = cross_val_score(SVC(kernel="linear", C=10.0), X, y, cv=folds, scoring=scoring)
        np.testing.assert_allclose([fold[metric] for fold in record["folds"]], expected, atol=1e-12)


class _Nowhere(Cache):
    def __init__(self):
        pass

    def write(self, cell, record):
        pass


def test_an_interrupted_run_resumes_with_what_is_missing(tmp_path):
    cells = [cell(folds=(k,)) for k in range(4)]
    cache = Cache(tmp_path)

    def stop_after_two(_, __):
        if len(list(tmp_path.rglob("*.json"))) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_missing(cells, cache, jobs=1, limit=60.0, tell=stop_after_two)
    done, missing = cache.split(cells, 60.0)
    assert len(done) == len(missing) == 2
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    run_missing(missing, cache, jobs=2, limit=60.0)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert cache.split(cells, 60.0)[1] == []
    assert len(cache.split(cells, 60.0, fresh=True)[1]) == 4


def test_a_damaged_result_is_computed_again(tmp_path):
    cache = Cache(tmp_path)
    cache.write(cell(), {"state": FINISHED, "folds": []})
    assert cache.settled(cell(), 1.0)["state"] == FINISHED
    path = cache.path(cell())
    path.write_text(path.read_text()[:-5])
    assert cache.settled(cell(), 1.0) is None


def test_keys_tell_apart_all_that_matters_and_nothing_else():
    base = cell("pgd")
    others = [cell("pgd", C=1.0), cell("pgd", folds=(1,)), cell("sdp"), cell("pgd", dataset="gaussian_2")]
    assert len({base.key(), *(other.key() for other in others)}) == 5
    assert cell("sdp").key() != cell("sdp-published").key()
    assert base.key() == cell("pgd").key()
    assert cell("forest-disk", C=1.0).key() == cell("forest-disk", C=10.0).key()


def test_a_time_limit_stops_a_cell_and_its_like_are_not_begun(tmp_path):
    slow = [cell("pgd-published", folds=folds) for folds in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0))]
    limit = 0.4 * slow[0].estimate()
    results = dict(run_missing([*slow, cell()], Cache(tmp_path), jobs=1, limit=limit))
    assert results[slow[0]]["state"] == TIMED_OUT
    assert results[slow[1]]["state"] == SKIPPED
    assert f"{limit:g} s" in results[slow[1]]["reason"]
    # Holes are settled for the same limit, and tried again with a longer one.
    assert [Cache(tmp_path).settled(c, limit)["state"] for c in slow] == [TIMED_OUT, SKIPPED]
    assert [Cache(tmp_path).settled(c, 2.0 * limit) for c in slow] == [None, None]
    assert expected_seconds(slow, limit) == pytest.approx(limit)


def test_cells_side_by_side_hear_of_each_other_before_the_next_are_begun():
    orders = ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (1, 2, 3, 4, 0), (2, 3, 4, 0, 1))
    slow = [cell("pgd-published", folds=folds) for folds in orders]
    records = dict(runner.run_cells(slow, jobs=2, limit=0.4 * slow[0].estimate()))
    assert [records[c]["state"] for c in slow] == [TIMED_OUT, TIMED_OUT, SKIPPED, SKIPPED]


def test_what_is_far_above_the_limit_is_not_begun():
    far = cell("moment-published", folds=(0, 1, 2, 3, 4))
    limit = 0.1 * far.estimate()
    assert expected_seconds([far], limit) == 0.0
    ((_, record),) = runner.run_cells([far], jobs=1, limit=limit)
    assert record["state"] == SKIPPED
    assert record["reason"] == f"estimated at {far.estimate():.0f} s, far more than {limit:g} s"


def test_draws_of_the_grid_that_are_alike_are_given_up_together():
    groups = {c.group for g in grid_groups(Selection(methods=["moment"])) for c in g if c.method == "moment"}
    assert len(groups) == len(data.GRID_CLASSES) * len(data.GRID_SCALES) * len(data.GRID_C)
    assert cell("pgd", C=1.0).group == cell("pgd", C=1.0, folds=(3,)).group != cell("pgd", C=10.0).group


def test_what_the_paper_has_comes_first(paper_data):
    names = [(c.dataset, c.scheme, c.method) for c in make_plan(Selection(datasets=["gaussian_2", "polbooks"])).cells]
    # Its synthetic table is one-vs-rest only; the judge and the baselines are wanted everywhere.
    extra = [("gaussian_2", "ovo", "pgd"), ("gaussian_2", "ovo", "moment")]
    needed = [("gaussian_2", "ovr", "moment"), ("polbooks", "ovo", "moment"), ("gaussian_2", "ovo", "exact")]
    assert max(names.index(place) for place in needed) < min(names.index(place) for place in extra)


def test_a_failure_is_a_labelled_hole_and_the_rest_goes_on():
    records = dict(runner.run_cells([cell("exact", C=-1.0), cell()], jobs=1, limit=60.0))
    assert records[cell("exact", C=-1.0)]["state"] == FAILED
    assert "C must be positive" in records[cell("exact", C=-1.0)]["reason"]
    assert records[cell()]["state"] == FINISHED


def test_a_worker_that_dies_says_so_and_is_replaced():
    worker = LimitedWorker("hypermargin_studies.problem_set.scoring")
    try:
        assert worker.call("can_load", {"solver": "absent.py"}, 60.0).error.startswith("ValueError: there is no file")
        worker._running().kill()
        assert worker._running().wait() != 0
        assert worker.call("no_such_function", {}, 60.0).error.startswith("AttributeError")
    finally:
        worker.close()


def test_a_worker_can_be_ended_in_the_middle_of_a_task(tmp_path):
    """As an interrupted run does, from another thread than the one that waits for the answer."""
    begun, solver = tmp_path / "begun", tmp_path / "sleeper.py"
    solver.write_text(f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)\n")
    worker = LimitedWorker("hypermargin_studies.problem_set.scoring")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(worker.call, "can_load", {"solver": str(solver)}, 600.0)
        while not begun.exists():
            time.sleep(0.05)
        worker.close()
        assert "exit code -9" in answer.result(timeout=30).error
    assert worker.call("can_load", {"solver": "exact"}, 60.0) == Answer(error="the run was ended")


def test_a_cluster_that_does_not_answer_is_one_sentence():
    with pytest.raises(ValueError, match=r"distributed|no Dask scheduler answers"):
        list(runner.run_cells([cell()], jobs=1, limit=1.0, dask="tcp://127.0.0.1:1"))


def test_quick_keeps_few_folds_of_what_is_long():
    names = ["gaussian_1", "gaussian_3"]
    full, quick = (make_plan(Selection(datasets=names, quick=quick)) for quick in (False, True))
    assert set(quick.cells) < set(full.cells)
    assert set(quick.cells) | set(quick.left_out) == set(full.cells)
    assert expected_seconds(quick.cells, 60.0) < 0.2 * expected_seconds(full.cells, 900.0)
    assert len({c.method for c in quick.cells}) >= 11
    methods = {c.method for c in make_plan(Selection(datasets=names, methods=["pgd"])).cells}
    assert methods == {"pgd", "exact"}, "the judge belongs to every plan with a method to judge"


def test_the_grid_is_the_papers():
    cells = [c for group in grid_groups(Selection(methods=["exact"])) for c in group]
    groups = {(*data.grid_parameters(c.dataset)[:2], c.C) for c in cells}
    assert groups == {(K, s, C) for K in (2, 5) for s in (0.4, 1.0) for C in (0.1, 10.0)}
    assert len(cells) == 8 * 15


def test_the_grid_goes_with_what_is_chosen():
    def drawn(**choice):
        return {c.C for group in grid_groups(Selection(methods=["exact"], **choice)) for c in group}

    assert drawn(datasets=["grid"]) == {0.1, 10.0}
    assert table_groups(Selection(datasets=["grid"])) == []
    assert drawn(datasets=["grid", "karate"], C=[10.0, 1.0]) == {10.0}
    assert drawn(datasets=["karate"]) == drawn(C=[1.0]) == drawn(schemes=["ovo"]) == drawn(grid=False) == set()


def test_the_digest_is_that_of_the_data_and_not_of_the_last_bits(monkeypatch):
    X, y = data.load("gaussian_1")
    before = data.digest("gaussian_1")
    for points, labels, is_same in (
        (X * (1.0 + 2e-16), y, True),
        (X * (1.0 + 1e-5), y, False),
        (X, y[::-1], False),
        (X[::-1], y, False),
    ):
        monkeypatch.setattr(data, "load", lambda _, answer=(points, labels): answer)
        assert (data.digest.__wrapped__("gaussian_1") == before) is is_same


def test_a_device_is_for_the_moment_relaxations_only():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'hypermargin[gpu]'")
    assert torch.zeros(1).device.type == "cpu"
    cells = [cell("moment"), cell("sdp")]
    here, there = (dict(runner.run_cells(cells, jobs=1, limit=100.0, device=name)) for name in (None, "cpu"))
    assert [there[c]["folds"][0]["device"] for c in cells] == ["cpu", None]
    assert [here[c]["folds"][0]["device"] for c in cells] == [None, None]
    for c in cells:
        objectives = [run[c]["folds"][0]["objective_hinge"] for run in (here, there)]
        np.testing.assert_allclose(*objectives, rtol=1e-6)


def test_a_worker_takes_one_thread_and_a_device_no_part_of_the_name():
    method = METHODS["moment"]
    assert method.build("gaussian_1", 1.0, "ovr").solver_options == {"n_jobs": 1}
    on_gpu = method.build("gaussian_1", 1.0, "ovr", "cuda").solver_options
    assert on_gpu == {"library": "torch", "device": "cuda"}
    assert METHODS["sdp"].build("gaussian_1", 1.0, "ovr", "cuda").solver_options == {}
    assert method.settings("gaussian_1")["options"] == {}


def test_estimates_for_processors_do_not_stop_a_device(monkeypatch):
    far = cell("moment-published", folds=(0, 1, 2, 3, 4))
    asked = []
    monkeypatch.setattr(
        LimitedWorker, "call", lambda self, function, task, limit: asked.append(task) or Answer(value=[])
    )
    results = dict(runner.run_cells([far], jobs=1, limit=0.1 * far.estimate(), device="cuda"))
    assert results[far]["state"] == FINISHED
    assert expected_seconds([far], 0.1 * far.estimate(), "cuda") == pytest.approx(0.1 * far.estimate())
    assert [task["device"] for task in asked] == ["cuda"]


def test_what_was_given_up_on_a_processor_is_tried_on_a_device(tmp_path):
    cache, cells = Cache(tmp_path), [cell("moment"), cell("sdp")]
    for c in cells:
        cache.write(c, {"state": TIMED_OUT, "limit": 60.0})
    assert cache.split(cells, 60.0)[1] == []
    assert cache.split(cells, 60.0, device="cuda")[1] == cells[:1]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for the worker in /proc")
def test_a_worker_does_not_outlive_who_asked(tmp_path):
    """A parent that is killed can tell nobody; its worker is in the middle of a long task then."""
    begun = tmp_path / "begun"
    solver = tmp_path / "sleeper.py"
    solver.write_text(f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)\n")
    script = (
        "from hypermargin_studies.engine.worker import LimitedWorker\n"
        "worker = LimitedWorker('hypermargin_studies.problem_set.scoring')\n"
        "print(worker._running().pid, flush=True)\n"
        f"worker.call('can_load', {{'solver': {str(solver)!r}}}, 600.0)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    while not begun.exists():
        time.sleep(0.05)
    parent.kill()
    parent.communicate()
    for _ in range(100):
        if not _runs(worker):
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker goes on after its parent's end")


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
