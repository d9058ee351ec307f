"""How far a point may move before a vote of trees can change: a lower bound, and points where it does change.

The distance r_s of x to the other side of a split is in closed form (`estimators.radius`). A leaf is at least as far as
the farthest of the splits on its path that x is on the wrong side of. So within radius r a tree can give a rival no
more than its best leaf among those that are so near; the sum over trees of the least lead of the predicted class, as a
function of r, falls in steps, and the answer cannot change before it is down to 0.

Points with another answer are looked for along geodesics: straight towards the nearest splits on the point's paths, in
directions all around, and then around the best so far.
"""

from collections.abc import Callable

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.forest.tree import Tree, TreeVote
from hypermargin.estimators.radius import OVERSHOOT, flip_distances, safe_distances
from hypermargin.geometry.isometries import move_from_origin, transform_normal, translation_to_origin
from hypermargin.geometry.lorentz import minkowski_dot
from hypermargin.geometry.metric import exp_origin

#: Points treated at a time: distances to all leaves of all trees are held for them.
BLOCK = 32
#: Leads of the predicted class below this, summed over trees, may be rounding.
LEAD_ROUNDING = 1e-9
#: Directions of the first fan in the search for adversarial points, and of the narrower ones around the best.
FIRST_FAN, NEXT_FANS = 48, (0.3, 0.1, 0.03, 0.01)
#: Splits on the paths of a point, the nearest of all trees, that the search goes straight towards.
NEAREST_SPLITS = 32
#: Ratio of neighbouring radii along a ray, and the radius beyond which nobody looks.
STRIDE, FARTHEST = 1.2, 8.0
#: The first radius tried where the certified one is smaller.
NEAREST = 1e-6


def certified_radius(points: Array, vote: TreeVote) -> Array:
    """A radius within which the vote on each point does not change, shape (n,); infinite where it never does."""
    return np.concatenate(
        [_block_radius(points[start : start + BLOCK], vote) for start in range(0, len(points), BLOCK)]
    )


def _block_radius(points: Array, vote: TreeVote) -> Array:
    """`certified_radius` of a few points.

    For every rival the leaves of a tree, sorted by distance, give the least lead within each distance as a running
    minimum; what it loses at each leaf is an event, and the events of all trees are added up in order of distance.
    """
    winner, radius = vote.winner(points), np.full(len(points), np.inf)
    distances = [_leaf_distances(points, tree) for tree in vote.trees]
    for i in range(len(points)):
        orders = [np.argsort(table[i], kind="stable") for table in distances]
        at = np.concatenate([table[i][order] for table, order in zip(distances, orders, strict=True)])
        overall = np.argsort(at, kind="stable")
        for rival in range(vote.n_classes):
            if rival == winner[i]:
                continue
            falls, lead = [], 0.0
            for tree, order in zip(vote.trees, orders, strict=True):
                least = np.minimum.accumulate((tree.values[:, winner[i]] - tree.values[:, rival])[order])
                falls.append(np.diff(least, prepend=least[0]))
                lead += least[0]
            left = lead + np.cumsum(np.concatenate(falls)[overall])
            changed = left <= LEAD_ROUNDING * len(vote.trees)
            if changed.any():
                radius[i] = min(radius[i], at[overall[np.argmax(changed)]])
    return radius


def _leaf_distances(points: Array, tree: Tree) -> Array:
    """A lower bound of the distance of each point to each leaf, 0 for its own; shape (n, n_leaves)."""
    bound = np.zeros((len(points), tree.n_nodes))
    if tree.levels:
        above = points @ tree.splits[:, :-1].T > tree.thresholds
        distance = safe_distances(points, tree.normals, -tree.thresholds)
        for nodes in tree.levels:
            slots = tree.slot[nodes]
            for side in range(2):
                crossing = np.where(above[:, slots] == bool(side), 0.0, distance[:, slots])
                bound[:, tree.children[nodes, side]] = np.maximum(bound[:, nodes], crossing)
    return bound[:, tree.leaf_nodes]


# -- adversarial points ------------------------------------------------------------------------------------------------


def nearest_adversarial(points: Array, vote: TreeVote, as_seen: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Points with another answer, shape (n, d + 1), and their distances, shape (n,): the nearest found, or NaN and inf.

    `as_seen` gives the points that are left of points when they are written in the coordinates of the user and read
    again, NaN where that is not possible: the answer must differ for those too.
    """
    found, distances = np.full(points.shape, np.nan), np.full(len(points), np.inf)
    safe, rng = certified_radius(points, vote), np.random.default_rng(0)
    for i, point in enumerate(points):
        if np.isfinite(safe[i]):
            found[i], distances[i] = _search(point, max(float(safe[i]), NEAREST), vote, as_seen, rng)
    return found, distances


def _search(
    point: Array, start: float, vote: TreeVote, as_seen: Callable[[Array], Array], rng: np.random.Generator
) -> tuple[Array, float]:
    """The nearest change of answer in a fan of directions, then in narrower fans around the best."""
    answer = int(vote.winner(point[None])[0])
    dim, best, heading = point.size - 1, np.inf, None
    for spread in (None, *NEXT_FANS):
        if spread is None:
            directions = np.vstack([_towards_splits(point, vote), rng.standard_normal((FIRST_FAN, dim))])
        elif heading is None:
            break
        else:
            directions = heading + spread * rng.standard_normal((FIRST_FAN // 2, dim))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        reach, which = _first_change(point, directions, start, min(best, FARTHEST), answer, vote)
        if reach < best:
            best, heading = reach, directions[which]
    if heading is not None:
        beyond = OVERSHOOT * (1.0 + best)
        for _ in range(12):  # a little beyond the change, more where rounding brings the old answer back
            there = _along(point, heading[None], np.array([best + beyond]))
            seen = as_seen(there)
            if np.isfinite(seen).all() and vote.winner(there)[0] != answer and vote.winner(seen)[0] != answer:
                return there[0], best + beyond
            beyond *= 8.0
    return np.full(point.size, np.nan), np.inf


def _towards_splits(point: Array, vote: TreeVote) -> Array:
    """Directions in the tangent space at the point that lead straight to the nearest splits on its paths.

    Seen from the point, which an isometry takes to the origin, a split has the normal ``(t, wr)``; moving by r along a
    unit vector u changes its score from t to ``cosh(r) t - sinh(r) u.wr``.
    """
    found = [tree.path(point) for tree in vote.trees]
    normals = np.concatenate([tree.normals[rows] for tree, rows in zip(vote.trees, found, strict=True)])
    thresholds = np.concatenate([tree.thresholds[rows] for tree, rows in zip(vote.trees, found, strict=True)])
    distance = flip_distances(point[None], normals, -thresholds)[0]
    nearest = np.argsort(distance, kind="stable")[:NEAREST_SPLITS]
    nearest = nearest[np.isfinite(distance[nearest])]
    seen = transform_normal(normals[nearest], translation_to_origin(point))
    sign = np.where(minkowski_dot(point, normals[nearest]) > thresholds[nearest], 1.0, -1.0)
    directions = sign[:, None] * seen[:, 1:]
    return directions[np.linalg.norm(directions, axis=1) > 0.0]


def _first_change(
    point: Array, directions: Array, start: float, end: float, answer: int, vote: TreeVote
) -> tuple[float, int]:
    """The least radius at which the answer differs along one of the directions, to 1e-9 of itself; inf for none."""
    steps = max(1, int(np.ceil(np.log(max(end / start, 1.0)) / np.log(STRIDE))))
    low = start
    for high in start * STRIDE ** np.arange(steps + 1):
        high = min(float(high), end)
        changed = vote.winner(_along(point, directions, np.full(len(directions), high))) != answer
        if changed.any():
            return _bisect(point, directions, np.flatnonzero(changed), low, high, answer, vote)
        low = high
    return np.inf, -1


def _bisect(
    point: Array, directions: Array, rows: np.ndarray, low: float, high: float, answer: int, vote: TreeVote
) -> tuple[float, int]:
    lows, highs = np.full(rows.size, low), np.full(rows.size, high)
    for _ in range(30):
        middle = 0.5 * (lows + highs)
        changed = vote.winner(_along(point, directions[rows], middle)) != answer
        lows, highs = np.where(changed, lows, middle), np.where(changed, middle, highs)
    best = int(np.argmin(highs))
    return float(highs[best]), int(rows[best])


def _along(point: Array, directions: Array, distances: Array) -> Array:
    """Points at these distances in these unit directions of the tangent space at the point, shape (m, d + 1)."""
    return move_from_origin(exp_origin(distances[:, None] * directions), point)
