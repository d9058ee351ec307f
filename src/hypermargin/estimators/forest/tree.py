"""Grown trees: nodes, splits and values as arrays in the frame in which they grew; their vote; a tree in words."""

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from hypermargin.arrays import Array, row_blocks
from hypermargin.estimators.forest.compiled.traversal import add_values, count_samples, find_leaves, shrink_values
from hypermargin.geometry.lorentz import covector, quadratic_form

Integers = NDArray[np.intc]

#: Points that a thread takes through all trees at a time.
BLOCK = 1 << 12


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


# -- a tree in words ---------------------------------------------------------------------------------------------------


def describe(
    tree: Tree, normals: Array, classes: np.ndarray, scale: float, max_depth: int | None = None, digits: int = 4
) -> str:
    """A line for each node, indented by depth.

    `normals`, shape (n_splits, d + 1), are those of the splits in the frame in which they are shown; thresholds do not
    depend on the frame. Distances are divided by `scale`, the square root of the curvature.
    """
    lines: list[str] = []
    waiting = [(0, 0, "")]
    while waiting:
        node, depth, side = waiting.pop()
        row, indent = tree.slot[node], "|   " * depth
        if tree.children[node, 0] < 0:
            lines.append(indent + side + _leaf(tree.values[row], float(tree.masses[row]), classes))
        elif max_depth is not None and depth >= max_depth:
            lines.append(f"{indent}{side}... ({_size_below(tree, node)} more nodes)")
        else:
            lines.append(indent + side + _split(normals[row], float(tree.thresholds[row]), scale, digits))
            waiting.append((tree.children[node, 1], depth + 1, "beyond: "))
            waiting.append((tree.children[node, 0], depth + 1, "before: "))
    return "\n".join(lines)


def _leaf(values: Array, mass: float, classes: np.ndarray) -> str:
    order = np.argsort(-values, kind="stable")[:3]
    shares = ", ".join(f"{classes[k]}: {values[k]:.1%}" for k in order if values[k] > 0.0)
    return f"class {classes[order[0]]} ({shares}; weight {mass:g})"


def _split(w: Array, threshold: float, scale: float, digits: int) -> str:
    """What the level set ``x * w = threshold`` is: the normal is scaled so that numbers mean distances.

    Beyond it are the points with ``x * w > threshold``.
    """
    q, size = float(quadratic_form(w)), float(np.max(np.abs(w)))
    if size == 0.0:
        return "no split"
    if abs(q) <= 1e-9 * size * size:
        return f"x * {_vector(w / size, digits)} > {threshold / size:.{digits}g} (horosphere)"
    length = math.sqrt(abs(q))
    unit, level = w / length, threshold / length
    if q > 0.0:
        offset = math.asinh(level) / scale
        kind = "hyperplane" if abs(offset) < 1e-9 else f"at distance {offset:.{digits}g} from a hyperplane"
        return f"x * {_vector(unit, digits)} > {level:.{digits}g} ({kind})"
    if unit[0] > 0.0:  # x * p = cosh of the distance to the point p
        radius = math.acosh(max(level, 1.0)) / scale
        return f"farther than {radius:.{digits}g} from {_vector(unit, digits)} (sphere)"
    radius = math.acosh(max(-level, 1.0)) / scale
    return f"nearer than {radius:.{digits}g} to {_vector(-unit, digits)} (sphere)"


def _vector(v: Array, digits: int) -> str:
    return "(" + ", ".join(f"{number:.{digits}g}" for number in v) + ")"


def _size_below(tree: Tree, node: int) -> int:
    """Nodes of the subtree, itself included."""
    count, waiting = 0, [node]
    while waiting:
        below = waiting.pop()
        count += 1
        waiting.extend(child for child in tree.children[below].tolist() if child >= 0)
    return count
