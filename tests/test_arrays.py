"""Rows in blocks: every row once and in order, and the same numbers as all at once."""

import numpy as np
import pytest

from hypermargin import arrays
from hypermargin.arrays import row_blocks, rowwise


@pytest.mark.parametrize("n", [0, 1, 6, 7, 8, 14, 15])
def test_blocks_hold_every_row_once_and_in_order(n, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 7)
    rows = [np.arange(n)[part] for part in row_blocks(n)]
    assert [i for part in rows for i in part] == list(range(n))
    assert all(0 < part.size <= 7 for part in rows)


@pytest.mark.parametrize("n", [0, 1, 7, 20])
def test_a_function_of_rows_is_the_same_in_blocks(n, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_ROWS", 7)
    X = np.random.default_rng(7).standard_normal((n, 3))

    def weighted_sum_is_positive(rows, weights):
        assert len(rows) <= 7
        return (rows * weights).sum(axis=1) > 0.0

    found = rowwise(weighted_sum_is_positive, X, np.array([1.0, 2.0, -1.0]))
    assert found.tolist() == [x[0] + 2.0 * x[1] - x[2] > 0.0 for x in X]
