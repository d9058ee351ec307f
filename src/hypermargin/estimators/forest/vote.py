"""The vote of trees: shares of the classes in the leaves, averaged, a block of points at a time and in threads."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from hypermargin.arrays import Array, row_blocks
from hypermargin.estimators.forest.tree import Tree

#: Points that a thread takes through all trees at a time.
BLOCK = 1 << 12


@dataclass(frozen=True, eq=False)
class TreeVote:
    """Trees in one frame, and the number of classes."""

    trees: list[Tree]
    n_classes: int

    def shares(self, points: Array, n_jobs: int | None = None) -> Array:
        """Shares of the classes, shape (n, n_classes), for points in the frame of the trees.

        Threads take blocks of points, each through all trees in their order, so that sums do not depend on them.
        """
        total = np.zeros((len(points), self.n_classes))
        blocks = row_blocks(len(points), BLOCK)
        if len(blocks) == 1:
            self._add_block(total, points)
        else:
            Parallel(n_jobs=n_jobs, require="sharedmem")(
                delayed(self._add_block)(total[rows], points[rows]) for rows in blocks
            )
        total /= len(self.trees)
        return total

    def winner(self, points: Array) -> np.ndarray:
        """Index of the predicted class, shape (n,)."""
        return np.argmax(self.shares(points), axis=1)

    def _add_block(self, total: Array, points: Array) -> None:
        for tree in self.trees:
            tree.add_to(total, points)
