"""Forests of samples in blocks: each tree grows on a sample of all of them, on the workers of a cluster.

Every block draws its share of the bootstrap sample of a tree by itself: how often a sample is drawn is a Poisson
number, independent of other blocks. What was drawn meets on one worker, which grows the tree there; of files
and devices it meets here. Only drawn samples and trees travel.
"""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from hypermargin.arrays import Array
from hypermargin.data.blocks import LabelledBlock
from hypermargin.data.device import to_numpy
from hypermargin.data.executors import DataSource
from hypermargin.estimators.forest.growing import CertifiedSplit, GrowthPlan
from hypermargin.estimators.forest.tree import Tree
from hypermargin.geometry.isometries import move_to_origin
from hypermargin.geometry.lorentz import lift
from hypermargin.geometry.mean import onto_hyperboloid

#: Samples that a tree grows on unless `max_samples` is given.
USUAL_SAMPLES = 100_000

#: Rows that are on the host at a time.
ROWS_AT_A_TIME = 1 << 22

#: Distinct points, class indices and how often each was drawn.
Drawn = tuple[Array, np.ndarray, Array]


def centre_of(source: DataSource) -> tuple[int, float, Array]:
    """The number of samples, their weight, and the centroid of the points, shape (d + 1,)."""
    sizes, weights, sums = zip(*source.map_blocks(_sums), strict=True)
    known = [total for size, total in zip(sizes, sums, strict=True) if size]
    return sum(sizes), float(sum(weights)), onto_hyperboloid(np.sum(known, axis=0) / sum(weights))


def grow_blocked(
    source: DataSource, plan: GrowthPlan, frame: Array, rate: float, seeds: Sequence[int], n_jobs: int | None
) -> list[tuple[Tree, list[CertifiedSplit]]]:
    """A tree for each seed from samples that are drawn `rate` times for each unit of their weight.

    `plan` has the settings, and no samples yet; trees are grown in the frame that has `frame` at the origin.
    """
    return source.map_reduce(partial(_drawn, rate=rate), partial(_grown, plan=plan, frame=frame), list(seeds), n_jobs)


def _sums(samples: LabelledBlock) -> tuple[int, float, Array]:
    n, weight, total = int(samples.points.shape[0]), 0.0, None
    for start in range(0, n, ROWS_AT_A_TIME):
        points, _, own = _on_host(samples, slice(start, min(start + ROWS_AT_A_TIME, n)))
        own = np.ones(len(points)) if own is None else own
        weight += float(own.sum())
        total = own @ points if total is None else total + own @ points
    return n, weight, np.zeros(1) if total is None else total


def _drawn(samples: LabelledBlock, seed: int, rate: float) -> Drawn | None:
    """The part of a block in the sample of one tree: Poisson numbers of expectation ``rate * weight``."""
    n = int(samples.points.shape[0])
    if n == 0:
        return None
    ends, labels, _ = _on_host(samples, np.array([0, n - 1]))
    rng = np.random.default_rng([seed, zlib.crc32(ends.tobytes() + labels.tobytes()), n])
    if samples.weight is None:
        rows = rng.integers(0, n, rng.poisson(rate * n))
    else:
        masses = np.cumsum(to_numpy(samples.weight))
        chosen = rng.uniform(0.0, masses[-1], rng.poisson(rate * masses[-1]))
        rows = np.searchsorted(masses, chosen, side="right").clip(max=n - 1)
    rows, counts = np.unique(rows, return_counts=True)
    if rows.size == 0:
        return None
    points, labels, _ = _on_host(samples, rows)
    return points, labels, counts.astype(np.float64)


def _on_host(samples: LabelledBlock, rows: Any) -> tuple[Array, np.ndarray, Array | None]:
    """Some samples as NumPy arrays: unit points, class indices and weights."""
    if not samples.on_device:
        weight = None if samples.weight is None else samples.weight[rows]
        return samples.points[rows], np.asarray(samples.labels[rows]), weight
    xp = array_namespace(samples.points)
    places = rows if isinstance(rows, slice) else xp.asarray(rows, device=samples.points.device)
    labels, weight = (None if v is None else to_numpy(v[places]) for v in (samples.labels, samples.weight))
    return lift(to_numpy(samples.points[places])), np.asarray(labels), weight


def _grown(parts: list[Drawn | None], seed: int, plan: GrowthPlan, frame: Array) -> tuple[Tree, list[CertifiedSplit]]:
    """The tree of what was drawn from all blocks."""
    found = [part for part in parts if part is not None]
    if not found:
        raise ValueError("the sample of a tree is empty: max_samples is too small")
    points, labels, counts = (np.concatenate(columns) for columns in zip(*found, strict=True))
    own = replace(
        plan,
        X=np.ascontiguousarray(move_to_origin(points, frame)),
        labels=labels.astype(np.intc),
        weight=counts,
        draws=None,
    )
    return own.grow(seed)
