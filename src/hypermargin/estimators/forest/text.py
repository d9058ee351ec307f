"""A tree in words: what each split is, on which side a point goes where, and what the leaves say."""

import math

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.forest.tree import Tree
from hypermargin.geometry.lorentz import quadratic_form


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
