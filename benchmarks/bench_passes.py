"""The same fit from different homes: memory, chunks of a memory map, Parquet, PyTorch on the processor, Dask.

python benchmarks/bench_passes.py                      the table in docs/benchmarks/passes.md
python benchmarks/bench_passes.py --points 300000      smaller
python benchmarks/bench_passes.py --only dask          the rows of Dask, printed
python benchmarks/bench_passes.py --only dims          the rows of many dimensions, printed

Times are of `HyperbolicSVC.fit`, certificate checked and probabilities calibrated. Dask runs on processes with one
thread each: strong scaling keeps the points, weak scaling the points per process. What more workers would do is
computed from the parts of a pass, which are measured: how many points a worker gets through in a second, and what a
pass over nothing takes, in which one worker after the other gets the message from one place.
Those workers share one process and speak TCP; on machines of their own they would not take turns.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from harness import TABLES, Row, best_of, seconds, write_table
from hypermargin import HyperbolicSVC, MarginProblem
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.cluster import dask_source
from hypermargin.data.readers import ArrayChunks
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.solvers.exact.blocked_oracle import BlockOracle
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.runs import make_oracle

ROWS_PER_CHUNK = 1 << 18
PIECES_PER_WORKER = 4
#: Points and dimensions where working sets come from chunks.
DIMENSIONS = ((2_000_000, 2), (20_000, 32), (100_000, 32), (20_000, 128))
#: A normal at which passes are timed.
WHERE = np.array([[0.1, 0.3, -0.2]])
#: Workers that a message is timed for.
MANY_WORKERS = 10
#: Points that are thought of where more workers are.
LARGE = 10**9


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    return make_gaussian_mixture(
        n // 2, 2, scale=0.8, centers=[[0.6, 0.0], [-0.6, 0.0]], random_state=0, return_X_y=True
    )


def fitted(X, y) -> HyperbolicSVC:
    return HyperbolicSVC().fit(X, y)


def row(what: str, time: float, reference: float, model: HyperbolicSVC, truth: HyperbolicSVC) -> Row:
    apart = float(np.abs(model.coef_ - truth.coef_).max())
    note = f"{model.statuses_[0].name}, {int(model.n_iter_[0])} passes, normals {apart:.0e} apart"
    return Row(what, seconds(time), f"in memory {seconds(reference)}", f"{time / reference:.1f}x", "", note)


def measure(n: int, folder: Path, only: str | None) -> list[Row]:
    if only == "dims":
        return _dimensions(folder)
    X, y = data(n)
    memory, truth = best_of(lambda: fitted(X, y), 2)
    if only == "dask":
        return _cluster(X, y, memory, truth)
    rows = [Row(f"NumPy array, {n:,} points, d = 2", seconds(memory), "", "", "", f"{int(truth.n_iter_[0])} passes")]
    np.save(folder / "X.npy", X)
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    time, model = best_of(lambda: fitted(ArrayChunks(mapped, rows=ROWS_PER_CHUNK), y), 1)
    rows.append(row("memory map in chunks", time, memory, model, truth))
    rows += _parquet(X, y, folder, memory, truth)
    rows += _classes(max(10_000, n // 50))
    rows += _dimensions(folder)
    rows += _cluster(X, y, memory, truth)
    return rows


def _dimensions(folder: Path) -> list[Row]:
    """Two classes in chunks of a memory map: working sets, and plain cuts, which are a read of the data each."""
    rows = []
    for n, d in DIMENSIONS:
        centres = np.outer([0.6, -0.6], np.eye(d)[0]) / np.sqrt(d)
        X, y = make_gaussian_mixture(
            n // 2, 2, dim=d, centers=centres, scale=0.8 / np.sqrt(d), random_state=0, return_X_y=True
        )
        order = np.random.default_rng(0).permutation(n)
        np.save(folder / "X.npy", X[order])
        chunks = ArrayChunks(np.load(folder / "X.npy", mmap_mode="r"), rows=n // 5)
        memory, _ = best_of(lambda: fitted(X, y), 2)  # noqa: B023
        time, model = best_of(lambda: fitted(chunks, y[order]), 2)  # noqa: B023
        plain = HyperbolicSVC(solver_options={"cuts": "plain"})
        slow, _ = best_of(lambda: plain.fit(chunks, y[order]), 1)  # noqa: B023
        note = (
            f"{model.statuses_[0].name}, {model.n_iter_[0]} passes for {plain.n_iter_[0]}; in memory {seconds(memory)}"
        )
        what = f"memory map in chunks, {n:,} points, d = {d}"
        rows.append(Row(what, seconds(time), f"plain cuts {seconds(slow)}", f"{slow / time:.0f}x", "", note))
    return rows


def _classes(n: int) -> list[Row]:
    """Ten classes in chunks: in step, and one after the other, which is what a time limit asks for."""
    rows = []
    for d in (2, 10):
        centres = 0.5 * np.random.default_rng(0).standard_normal((10, d))
        X, y = make_gaussian_mixture(n // 10, 10, dim=d, centers=centres, scale=0.4, random_state=0, return_X_y=True)
        chunks, times = ArrayChunks(X, rows=ROWS_PER_CHUNK), []
        for options in (None, {"time_limit": 1e6}):
            model = HyperbolicSVC(multi_class="ovr", solver_options=options)
            times.append(best_of(lambda: model.fit(chunks, y), 1)[0])  # noqa: B023
        what = f"ten classes in chunks, {n:,} points, d = {d}, in step"
        note = f"{sum(s.is_proved for s in model.solutions_)} of 10 proved; {model.n_iter_.max()} passes of the slowest"
        note += f", {model.n_iter_.sum()} of all"
        rows.append(
            Row(what, seconds(times[0]), f"in turn {seconds(times[1])}", f"{times[1] / times[0]:.1f}x", "", note)
        )
    return rows


def _parquet(X, y, folder: Path, memory: float, truth: HyperbolicSVC) -> list[Row]:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["t", "a", "b"])
    frame["kind"] = y
    frame.to_parquet(folder / "points.parquet")
    time, model = best_of(lambda: fitted(str(folder / "points.parquet"), "kind"), 1)
    return [row("Parquet file", time, memory, model, truth)]


def _cluster(X, y, memory: float, truth: HyperbolicSVC) -> list[Row]:
    import dask.array as da
    from distributed import Client, LocalCluster

    rows, times = [], {}
    for processes, share in ((1, 1.0), (2, 1.0), (1, 0.5)):
        n = int(share * len(y)) // 2 * 2
        part = np.r_[: n // 2, len(y) // 2 : len(y) // 2 + n // 2]
        with (
            LocalCluster(n_workers=processes, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster),
        ):
            chunk = -(-n // (PIECES_PER_WORKER * processes))
            dX = da.from_array(X[part], chunks=(chunk, 3)).persist()
            dy = da.from_array(y[part], chunks=chunk).persist()
            times[processes, share], model = best_of(lambda: fitted(dX, dy), 3)  # noqa: B023
        if share == 1.0:
            rows.append(row(f"Dask, {processes} process(es)", times[processes, share], memory, model, truth))
    strong, weak = times[1, 1.0] / times[2, 1.0], times[1, 0.5] / times[2, 1.0]
    rows.append(Row("Dask, strong scaling, 1 to 2 processes", f"{strong:.2f}x", "", "", "", "2.00x would be perfect"))
    rows.append(Row("Dask, weak scaling, 1 to 2 processes", f"{weak:.2f}", "", "", "", "1.00 would be perfect"))
    for workers in (2, MANY_WORKERS):
        message, tasks = _empty_pass(workers)
        what = f"Dask, a pass over nothing, {workers} workers of {PIECES_PER_WORKER} pieces"
        rows.append(Row(what, seconds(message), f"as tasks {seconds(tasks)}", f"{tasks / message:.1f}x", "", ""))
    return rows + _on_paper(message / MANY_WORKERS, _rate(X, y), int(truth.n_iter_[0]))


def _empty_pass(workers: int) -> tuple[float, float]:
    """Seconds of a pass over pieces of two points: as it is made, and as one task for every worker."""
    import dask.array as da
    from distributed import Client, LocalCluster

    pieces = PIECES_PER_WORKER * workers
    X, _ = data(2 * pieces)
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, protocol="tcp://", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        while len(client.nthreads()) < workers:
            time.sleep(0.05)
        rows = dask_source(da.from_array(X, chunks=(2, 3)), da.from_array(np.arange(len(X)) % 2, chunks=2))
        problem = BlockedProblem(rows.map(_problem), 1.0)
        oracle = make_oracle(problem, Frame(problem.centre))
        home = rows.map(_oracle, Frame(problem.centre))

        def by_tasks() -> None:
            client.gather([bundle.future for bundle in home.map(_ask_cuts).bundles])

        return best_of(lambda: oracle.cuts(WHERE), 5)[0], best_of(by_tasks, 5)[0]


def _rate(X, y) -> float:
    """Points that a worker gets through in a second."""
    problem = MarginProblem.unchecked(X, 2.0 * y - 1.0, 1.0)
    alone = _oracle_of(problem, Frame(problem.centre))
    alone(WHERE)  # moves the points to the frame, once
    return len(X) / best_of(lambda: alone(WHERE), 5)[0]


def _oracle_of(problem: MarginProblem, frame: Frame) -> BlockOracle:
    return BlockOracle(problem, frame, 1.0)


def _oracle(rows, frame: Frame) -> BlockOracle:
    return _oracle_of(_problem(rows), frame)


def _ask_cuts(oracle: BlockOracle):
    return oracle(WHERE)


def _problem(rows) -> MarginProblem:
    return MarginProblem.unchecked(rows.X, 2.0 * rows.y - 1.0, 1.0)


def _on_paper(message: float, rate: float, passes: int) -> list[Row]:
    """A billion points by the parts of a pass, with as many passes as were made here."""
    note = f"{passes} passes of {seconds(message)} for each worker, and {rate:.2g} points a second and worker"
    rows = []
    for workers in (1, 10, 100):
        busy = LARGE / (workers * rate)
        whole = passes * (workers * message + busy)
        what = f"on paper: {LARGE:.0e} points, {workers} worker(s)"
        rows.append(Row(what, seconds(whole), "", f"{passes * busy / whole:.0%} of it busy", "", note))
        note = ""
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="The same fit from different homes.")
    parser.add_argument("--points", type=int, default=2_000_000, help="number of points (%(default)s)")
    parser.add_argument("--only", choices=["dask", "dims"], help="the rows of this home alone, printed and not written")
    parser.add_argument("--output", type=Path, default=TABLES / "passes.md", help="where the table goes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(arguments.points, Path(folder), arguments.only)
    if arguments.only:
        print("\n".join("  ".join(filter(None, row.cells())) for row in rows))
        return
    write_table(arguments.output, "The same fit from different homes", rows, "python benchmarks/bench_passes.py")


if __name__ == "__main__":
    main()
