"""A grown tree as arrays, in the frame in which it grew: nodes, splits, and the values of its leaves."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hypermargin.arrays import Array
from hypermargin.estimators.forest.compiled.traversal import add_values, count_samples, find_leaves, shrink_values
from hypermargin.geometry.lorentz import covector

Integers = NDArray[np.intc]


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes are numbered from the root, 0; children have larger numbers than their parents.

    Attributes
    ----------
    children : (n_nodes, 2) array
        The nodes for scores up to the threshold and above it; -1 in leaves.
    slot : (n_nodes,) array
        The row of a node in `splits`, or of a leaf in `values`.
    splits : (n_splits, d + 2) array
        Covectors and thresholds: a point x goes to the second child where ``x . splits[:-1] > splits[-1]``.
    values : (n_leaves, n_classes) array
        Shares of the classes.
    masses : (n_leaves,) array
        Weight of the training samples.
    """

    children: Integers
    slot: Integers
    splits: Array
    values: Array
    masses: Array

    @property
    def n_nodes(self) -> int:
        return len(self.slot)

    @property
    def n_leaves(self) -> int:
        return len(self.values)

    @cached_property
    def leaf_nodes(self) -> Integers:
        """The nodes that are leaves, by the row of their values, shape (n_leaves,)."""
        nodes = np.empty(self.n_leaves, dtype=np.intc)
        leaves = np.flatnonzero(self.children[:, 0] < 0)
        nodes[self.slot[leaves]] = leaves
        return nodes

    @cached_property
    def levels(self) -> list[Integers]:
        """The inner nodes of each depth, from the root."""
        levels: list[Integers] = []
        nodes = np.zeros(1, dtype=np.intc)
        while True:
            nodes = nodes[self.children[nodes, 0] >= 0]
            if nodes.size == 0:
                return levels
            levels.append(nodes)
            nodes = self.children[nodes].ravel()

    @property
    def depth(self) -> int:
        """Splits on the longest path."""
        return len(self.levels)

    @property
    def normals(self) -> Array:
        """The normals w of the splits, shape (n_splits, d + 1): a point goes to the second child if ``x * w > b``."""
        return covector(self.splits[:, :-1])

    @property
    def thresholds(self) -> Array:
        """The thresholds b of the splits, shape (n_splits,)."""
        return self.splits[:, -1]

    def leaves(self, points: Array) -> Integers:
        """The leaf (its node) of each point, shape (n,)."""
        found = np.empty(len(points), dtype=np.intc)
        find_leaves(points, self.children, self.slot, self.splits, found)
        return found

    def path(self, point: Array) -> list[int]:
        """Rows of the splits that a point, shape (d + 1,), meets on its way to a leaf."""
        rows, node = [], 0
        while self.children[node, 0] >= 0:
            row = int(self.slot[node])
            rows.append(row)
            node = self.children[node, int(point @ self.splits[row, :-1] > self.splits[row, -1])]
        return rows

    def add_to(self, total: Array, points: Array) -> None:
        """Add the values of the points' leaves to `total`, shape (n, n_classes)."""
        add_values(self.leaves(points), self.slot, self.values, total)

    def filled(self, points: Array, labels: Integers, weights: Array) -> "Tree":
        """The same splits with the shares of these samples in the leaves; none may be left without weight."""
        values, masses = np.empty_like(self.values), np.empty_like(self.masses)
        count_samples(self.leaves(points), self.slot, labels, weights, values, masses)
        return replace(self, values=values, masses=masses)

    def shrunken(self, strength: float) -> "Tree":
        """The same tree with values drawn towards those of the nodes above (see `shrink_values`)."""
        if strength > 0.0:
            table = np.empty((self.n_nodes, self.values.shape[1] + 1))
            shrink_values(self.children, self.slot, self.values, self.masses, table, strength)
        return self

    def to_dict(self) -> dict[str, np.ndarray]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_dict(cls, state: dict[str, np.ndarray], width: int, n_classes: int) -> "Tree":
        """From what `to_dict` made, or a `ValueError` where that is no tree: nothing in it may lead astray."""
        kinds = {"children": np.intc, "slot": np.intc, "splits": np.float64, "values": np.float64, "masses": np.float64}
        arrays: dict[str, Any] = {name: np.ascontiguousarray(state[name], dtype=kind) for name, kind in kinds.items()}
        tree = cls(**arrays)
        n, inner = tree.n_nodes, tree.children[:, 0] >= 0
        shapes = tree.children.shape == (n, 2) and tree.splits.shape == (int(inner.sum()), width + 1)
        if not (n > 0 and shapes and tree.values.shape == (n - int(inner.sum()), n_classes) == tree.values.shape):
            raise ValueError("the arrays of a tree do not fit one another")
        below = tree.children[inner].ravel()
        slots = np.concatenate([np.sort(tree.slot[inner]), np.sort(tree.slot[~inner])])
        rows = np.concatenate([np.arange(inner.sum()), np.arange(n - inner.sum())])
        growing = np.all(tree.children[inner] > np.flatnonzero(inner)[:, None])
        if not (growing and np.array_equal(np.sort(below), np.arange(1, n)) and np.array_equal(slots, rows)):
            raise ValueError("the nodes of a tree do not hang together")
        if tree.masses.shape != (tree.n_leaves,) or not all(np.all(np.isfinite(v)) for v in (tree.splits, tree.values)):
            raise ValueError("the numbers of a tree are damaged")
        return tree
