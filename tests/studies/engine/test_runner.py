"""Runner, cache and workers: an interrupt loses nothing, limits are kept, failures are holes instead of crashes."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from light_cells import LightCell

from hypermargin_studies.engine import cells as runner
from hypermargin_studies.engine.cells import (
    FAILED,
    FINISHED,
    NOT_RUN,
    SKIPPED,
    TIMED_OUT,
    Cache,
    expected_seconds,
    run_cells,
    run_missing,
)
from hypermargin_studies.engine.worker import Answer, LimitedWorker


def states(cells, **how):
    records = dict(run_cells(cells, **how))
    return [records[cell]["state"] for cell in cells]


def test_an_interrupted_run_resumes_with_what_is_missing(tmp_path, capsys):
    cells = [LightCell(number=k) for k in range(4)]
    cache = Cache(tmp_path)

    class Interrupted(Cache):
        def write(self, cell, record):
            super().write(cell, record)
            if len(list(tmp_path.rglob("*.json"))) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_missing(cells, Interrupted(tmp_path), jobs=1, limit=60.0)
    assert f"finished cells are kept in {tmp_path}" in capsys.readouterr().err
    done, missing = cache.split(cells, 60.0)
    assert len(done) == len(missing) == 2
    assert [record["state"] for _, record in cache.whole(done, missing)] == [FINISHED, FINISHED, NOT_RUN, NOT_RUN]
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    run_missing(missing, cache, jobs=2, limit=60.0)
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    done, missing = cache.split(cells, 60.0)
    assert missing == []
    assert {cell.number: record["sum"] for cell, record in done} == {k: [k + 1, None] for k in range(4)}
    assert len(cache.split(cells, 60.0, fresh=True)[1]) == 4


def test_a_record_names_its_cell_and_its_commit(tmp_path):
    cell, cache = LightCell(number=3), Cache(tmp_path)
    run_missing([cell], cache)
    record = json.loads(cache.path(cell).read_text())
    assert LightCell(**record["cell"]) == cell
    assert record["commit"]
    assert cache.path(cell).name == f"{cell.key()}.json"


def test_a_damaged_result_is_computed_again(tmp_path):
    cell, cache = LightCell(), Cache(tmp_path)
    cache.write(cell, {"state": FINISHED, "sum": []})
    assert cache.settled(cell, 1.0)["state"] == FINISHED
    path = cache.path(cell)
    for damaged in (path.read_text()[:-5], "[]", "{}"):
        path.write_text(damaged)
        assert cache.settled(cell, 1.0) is None


def test_a_time_limit_stops_a_cell_and_its_like_are_not_begun(tmp_path):
    slow = [LightCell("sleep", number, seconds=1.0, kind="slow") for number in range(2)]
    results = dict(run_missing([*slow, LightCell()], Cache(tmp_path), jobs=1, limit=0.5))
    assert [results[cell]["state"] for cell in (*slow, LightCell())] == [TIMED_OUT, SKIPPED, FINISHED]
    assert results[slow[1]]["reason"] == "sleep 0 took more than 0.5 s"
    # Holes are settled for the same limit, and tried again with a longer one.
    assert [Cache(tmp_path).settled(cell, 0.5)["state"] for cell in slow] == [TIMED_OUT, SKIPPED]
    assert [Cache(tmp_path).settled(cell, 1.0) for cell in slow] == [None, None]
    assert expected_seconds(slow, 0.5) == pytest.approx(0.5)


def test_cells_side_by_side_hear_of_each_other_before_the_next_are_begun():
    slow = [LightCell("sleep", number, kind="slow") for number in range(4)]
    assert states(slow, jobs=2, limit=0.5) == [TIMED_OUT, TIMED_OUT, SKIPPED, SKIPPED]


def test_what_is_far_above_the_limit_is_not_begun():
    far = LightCell(seconds=50.0)
    assert expected_seconds([far], 5.0) == 0.0
    ((_, record),) = run_cells([far], jobs=1, limit=5.0)
    assert record == {"state": SKIPPED, "limit": 5.0, "reason": "estimated at 50 s, far more than 5 s"}


def test_a_failure_is_a_labelled_hole_and_the_rest_goes_on():
    records = dict(run_cells([LightCell("fail"), LightCell("die"), LightCell()], jobs=1, limit=60.0))
    assert records[LightCell("fail")]["reason"] == "ValueError: no result"
    assert records[LightCell("die")]["reason"] == "the process ended with exit code 7"
    assert [record["state"] for record in records.values()] == [FAILED, FAILED, FINISHED]


def test_estimates_for_processors_do_not_stop_a_device():
    cells = [LightCell(seconds=50.0, uses_devices=True), LightCell(number=1, seconds=50.0)]
    assert states(cells, jobs=1, limit=5.0, device="cuda") == [FINISHED, SKIPPED]
    assert expected_seconds(cells, 5.0, "cuda") == pytest.approx(5.0)
    ((_, record),) = run_cells(cells[:1], jobs=1, limit=5.0, device="cuda")
    assert record["sum"] == [1, "cuda"]


def test_what_was_given_up_on_a_processor_is_tried_on_a_device(tmp_path):
    cache, cells = Cache(tmp_path), [LightCell(uses_devices=True), LightCell(number=1)]
    for cell in cells:
        cache.write(cell, {"state": TIMED_OUT, "limit": 60.0})
    assert cache.split(cells, 60.0)[1] == []
    assert cache.split(cells, 60.0, device="cuda")[1] == cells[:1]


# -- a cluster ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # the package's own are not ours to mend
def test_a_cluster_gives_the_same_results_and_failures_are_labelled_holes():
    distributed = pytest.importorskip("distributed", reason="needs the extra hypermargin[cluster]")
    cells = [LightCell(number=1), LightCell("fail"), LightCell(number=2)]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        there = dict(run_cells(cells, limit=60.0, dask=cluster.scheduler_address))
    here = dict(run_cells(cells, limit=60.0))
    assert [{**there[cell], "elapsed": 0.0} for cell in cells] == [{**here[cell], "elapsed": 0.0} for cell in cells]
    assert [there[cell]["state"] for cell in cells] == [FINISHED, FAILED, FINISHED]


def test_a_cluster_that_does_not_answer_is_one_sentence(monkeypatch):
    monkeypatch.setattr(runner, "CONNECT", 0.5)
    with pytest.raises(ValueError, match=r"distributed|no Dask scheduler answers"):
        list(run_cells([LightCell()], dask="tcp://127.0.0.1:1"))


# -- workers -----------------------------------------------------------------------------------------------------------


def test_a_worker_that_dies_says_so_and_is_replaced():
    worker = LimitedWorker("light_cells")
    try:
        assert worker.call("run_cell", {"cell": {"action": "add", "number": 1}}, 60.0).value == [2, None]
        process = worker._running()
        process.kill()
        assert process.wait() != 0
        assert worker.call("no_such_function", {}, 60.0).error.startswith("AttributeError")
    finally:
        worker.close()


def test_a_worker_can_be_ended_in_the_middle_of_a_task(tmp_path):
    """As an interrupted run does, from another thread than the one that waits for the answer."""
    begun = tmp_path / "begun"
    worker = LimitedWorker("light_cells")
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(worker.call, "touch_and_sleep", {"path": str(begun)}, 600.0)
        while not begun.exists():
            time.sleep(0.02)
        worker.close()
        assert "exit code -9" in answer.result(timeout=30).error
    assert worker.call("run_cell", {}, 60.0) == Answer(error="the run was ended")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for the worker in /proc")
def test_a_worker_does_not_outlive_its_parent(tmp_path):
    """A parent that is killed can tell nobody; its worker is in the middle of a long task then."""
    begun = tmp_path / "begun"
    script = (
        "from hypermargin_studies.engine.worker import LimitedWorker\n"
        "worker = LimitedWorker('light_cells')\n"
        "print(worker._running().pid, flush=True)\n"
        f"worker.call('touch_and_sleep', {{'path': {str(begun)!r}}}, 600.0)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    while not begun.exists():
        time.sleep(0.02)
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
