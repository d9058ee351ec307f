"""The same fit from different homes: memory, chunks of a memory map, Parquet, PyTorch on the processor, Dask.

python benchmarks/bench_passes.py                      the table in docs/benchmarks/passes.md
python benchmarks/bench_passes.py --points 300000      smaller

Times are of `HyperbolicSVC.fit`, certificate checked and probabilities calibrated. Dask runs on processes with one
thread each: strong scaling keeps the points, weak scaling the points per process.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from harness import TABLES, Row, best_of, seconds, write_table
from hypermargin import HyperbolicSVC
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.passes import ArrayChunks

ROWS_PER_CHUNK = 1 << 18


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


def measure(n: int, folder: Path) -> list[Row]:
    X, y = data(n)
    memory, truth = best_of(lambda: fitted(X, y), 2)
    rows = [Row(f"NumPy array, {n:,} points, d = 2", seconds(memory), "", "", "", f"{int(truth.n_iter_[0])} passes")]
    np.save(folder / "X.npy", X)
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    time, model = best_of(lambda: fitted(ArrayChunks(mapped, rows=ROWS_PER_CHUNK), y), 1)
    rows.append(row("memory map in chunks", time, memory, model, truth))
    rows += _parquet(X, y, folder, memory, truth)
    rows += _cluster(X, y, memory, truth)
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
            LocalCluster(processes, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster),
        ):
            chunk = -(-n // (4 * processes))
            dX = da.from_array(X[part], chunks=(chunk, 3)).persist()
            dy = da.from_array(y[part], chunks=chunk).persist()
            times[processes, share], model = best_of(lambda: fitted(dX, dy), 2)  # noqa: B023
        time = times[processes, share]
        if share == 1.0:
            rows.append(row(f"Dask, {processes} process(es)", time, memory, model, truth))
    strong, weak = times[1, 1.0] / times[2, 1.0], times[1, 0.5] / times[2, 1.0]
    rows.append(Row("Dask, strong scaling, 1 to 2 processes", f"{strong:.2f}x", "", "", "", "2.00x would be perfect"))
    rows.append(Row("Dask, weak scaling, 1 to 2 processes", f"{weak:.2f}", "", "", "", "1.00 would be perfect"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="The same fit from different homes.")
    parser.add_argument("--points", type=int, default=2_000_000, help="number of points (%(default)s)")
    parser.add_argument("--output", type=Path, default=TABLES / "passes.md", help="where the table goes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(arguments.points, Path(folder))
    write_table(arguments.output, "The same fit from different homes", rows, "python benchmarks/bench_passes.py")


if __name__ == "__main__":
    main()
