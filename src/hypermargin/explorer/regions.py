"""Regions and boundaries of any classifier of the plane, by triangles: only its predictions are needed.

Sample points are triangulated (Delaunay, on the Poincaré disk). Triangles whose corners have different labels are
refined until their edges are short in the hyperbolic metric; then the boundary is located on each edge by bisection,
and the triangle is cut there. Boundaries of kernels, votes, trees and geodesics are all traced in this way.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial import Delaunay

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import move_from_origin
from hypermargin.geometry.lorentz import lift, radius
from hypermargin.geometry.metric import distance, exp_origin
from hypermargin.geometry.models import from_lorentz, to_lorentz

#: Labels as integers from Lorentz points of the plane, shape (n, 3) to (n,).
LabelOf = Callable[[Array], np.ndarray]

#: Sample points reach this hyperbolic radius: on the disk that is within 2e-6 of the edge, and every coordinate model
#: can represent it (to radius 18).
EDGE_RADIUS = 14.0
#: Rings of sample points and the points in a ring are this far apart in the hyperbolic metric, twice `SHORT_EDGE`, ...
RINGS_APART = 0.25
#: ... but a ring has no more points than this, 1.2 degrees apart.
MOST_IN_RING = 300
#: Data points among the sample points: small regions are found around them.
MOST_SEEDS = 1200
#: Near the data, triangles across a boundary are refined until their edges have this hyperbolic length.
SHORT_EDGE = 0.12
#: Each round halves edges: seven shorten an edge of length 15 to `SHORT_EDGE`.
MOST_ROUNDS = 7
#: Limits the time and the size of the page, to which a point with its two triangles adds some 50 bytes.
MOST_SAMPLES = 60_000
#: Each halves the uncertainty of a crossing: 18 bring it to 4e-6 of an edge, far below a pixel.
BISECTIONS = 18


@dataclass(frozen=True, eq=False)
class Regions:
    """Traced regions: vertices on the disk, triangles of one label each, and the lines between labels.

    Parameters
    ----------
    vertices : (V, 2) array
        Poincaré coordinates.
    triangles, labels : (T, 3) and (T,) arrays of int
    lines : list of arrays of int
        Rows of `vertices` along each line.
    """

    vertices: Array
    triangles: np.ndarray
    labels: np.ndarray
    lines: list[np.ndarray]

    def curves(self) -> list[Array]:
        """The lines as Lorentz points, each of shape (m, 3)."""
        return [to_lorentz(self.vertices[line], "poincare") for line in self.lines]


def trace_regions(label_of: LabelOf, X: Array, centre: Array, short_edge: float = SHORT_EDGE) -> Regions:
    """Trace the regions of `label_of` around the data X, shape (n, 3), and from `centre` to the edge of the disk."""
    points = sample_points(X, centre)
    labels = np.asarray(label_of(to_lorentz(points, "poincare")))
    reach = float(np.max(radius(X))) + 1.0
    triangles = Delaunay(points).simplices
    for _ in range(MOST_ROUNDS):
        middles = _middles_to_add(points, labels, triangles, reach, short_edge)
        if not len(middles) or len(points) + len(middles) > MOST_SAMPLES:
            break
        points = np.concatenate([points, middles])
        labels = np.concatenate([labels, label_of(to_lorentz(middles, "poincare"))])
        triangles = Delaunay(points).simplices
    return _cut(label_of, points, labels, triangles)


def sample_points(X: Array, centre: Array) -> Array:
    """Disk points, shape (m, 2): rings around `centre` out to the edge, some of the data, and points behind these."""
    reach = max(EDGE_RADIUS - float(radius(centre)), 2.0)
    near = min(float(np.max(radius(X))) + float(radius(centre)) + 0.5, reach)
    radii = np.concatenate([np.arange(RINGS_APART, near, RINGS_APART), np.linspace(near, reach, 8)])
    rings = [np.zeros((1, 2))]
    for k, r in enumerate(radii):
        size = int(min(np.ceil(2.0 * np.pi * np.sinh(r) / RINGS_APART), MOST_IN_RING))
        angles = 2.0 * np.pi * (np.arange(size) + 0.5 * (k % 2)) / size
        rings.append(r * np.column_stack([np.cos(angles), np.sin(angles)]))
    around = move_from_origin(exp_origin(np.concatenate(rings)), centre)
    seeds = X[:: -(-len(X) // MOST_SEEDS)]
    outwards = [seeds]
    r = radius(seeds)
    units = seeds[:, 1:] / np.maximum(np.linalg.norm(seeds[:, 1:], axis=1, keepdims=True), 1e-300)
    for step in (0.5, 1.0, 2.0, 3.5, 6.0):
        there = (r > 1.0) & (r + step < EDGE_RADIUS)
        outwards.append(lift(np.sinh(r[there] + step)[:, None] * units[there]))
    points = from_lorentz(np.concatenate([around, *outwards]), "poincare")
    return np.unique(np.round(points, 12), axis=0)


def _middles_to_add(points: Array, labels: np.ndarray, triangles: np.ndarray, reach: float, short: float) -> Array:
    """Middles of the edges that cross a boundary and are too long, disk points of shape (m, 2)."""
    edges = _edges(triangles)
    edges = edges[labels[edges[:, 0]] != labels[edges[:, 1]]]
    p, q = (to_lorentz(points[edges[:, k]], "poincare") for k in (0, 1))
    long = (distance(p, q) > short) & (np.minimum(radius(p), radius(q)) < reach)
    # The middle of x and y is x + y, scaled back to the hyperboloid: its space part over 2 cosh(d/2).
    half = np.cosh(0.5 * distance(p[long], q[long]))[:, None]
    middles = from_lorentz(lift((p[long, 1:] + q[long, 1:]) / (2.0 * half)), "poincare")
    return middles


def _edges(triangles: np.ndarray) -> np.ndarray:
    """The distinct edges of triangles, each with its smaller vertex first; shape (m, 2)."""
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _cut(label_of: LabelOf, points: Array, labels: np.ndarray, triangles: np.ndarray) -> Regions:
    """Cut each triangle along the boundaries that cross it."""
    corner = labels[triangles]
    whole = (corner[:, 0] == corner[:, 1]) & (corner[:, 1] == corner[:, 2])
    crossed = triangles[~whole]
    edges = _edges(crossed) if len(crossed) else np.empty((0, 2), dtype=int)
    edges = edges[labels[edges[:, 0]] != labels[edges[:, 1]]]
    crossings = _bisect(label_of, points, labels, edges)
    number = {(int(i), int(j)): len(points) + k for k, (i, j) in enumerate(edges)}
    vertices, pieces, of_piece, segments = [points, crossings], [triangles[whole]], [corner[whole, 0]], []
    middles: list[Array] = []
    first_middle = len(points) + len(crossings)
    new: list[tuple[int, int, int]] = []
    new_labels: list[int] = []
    for triangle in crossed.tolist():
        own = [int(labels[v]) for v in triangle]
        if len(set(own)) == 2:
            # The corner that stands alone first; its tip, and the quadrilateral of the two others.
            lone = next(k for k in range(3) if own.count(own[k]) == 1)
            a, b, c = (triangle[(lone + k) % 3] for k in range(3))
            ab, ac = number[min(a, b), max(a, b)], number[min(a, c), max(a, c)]
            new += [(a, ab, ac), (b, c, ab), (c, ac, ab)]
            new_labels += [own[lone], own[(lone + 1) % 3], own[(lone + 1) % 3]]
            segments.append((ab, ac))
        else:
            a, b, c = triangle
            ab, bc, ca = (number[min(p, q), max(p, q)] for p, q in ((a, b), (b, c), (c, a)))
            middle = first_middle + len(middles)
            middles.append(np.mean([crossings[k - len(points)] for k in (ab, bc, ca)], axis=0))
            new += [(a, ab, middle), (a, middle, ca), (b, bc, middle), (b, middle, ab)]
            new += [(c, ca, middle), (c, middle, bc)]
            new_labels += [own[0], own[0], own[1], own[1], own[2], own[2]]
            segments += [(ab, middle), (bc, middle), (ca, middle)]
    if new:
        pieces.append(np.array(new))
        of_piece.append(np.array(new_labels))
    if middles:
        vertices.append(np.array(middles))
    return Regions(np.concatenate(vertices), np.concatenate(pieces), np.concatenate(of_piece), chain(segments))


def _bisect(label_of: LabelOf, points: Array, labels: np.ndarray, edges: np.ndarray) -> Array:
    """The point of each edge (straight on the disk) where the label of its first end changes, shape (m, 2)."""
    if not len(edges):
        return np.empty((0, 2))
    start, end = points[edges[:, 0]], points[edges[:, 1]]
    low, high = np.zeros(len(edges)), np.ones(len(edges))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        same = label_of(to_lorentz(start + middle[:, None] * (end - start), "poincare")) == labels[edges[:, 0]]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return start + (0.5 * (low + high))[:, None] * (end - start)


def chain(segments: list[tuple[int, int]]) -> list[np.ndarray]:
    """Join segments between numbered nodes to lines, which end at nodes where not exactly two segments meet."""
    neighbours: dict[int, list[int]] = {}
    for p, q in segments:
        neighbours.setdefault(p, []).append(q)
        neighbours.setdefault(q, []).append(p)
    left = {frozenset(segment) for segment in segments}
    lines = []

    def follow(p: int, q: int) -> list[int]:
        line = [p, q]
        left.discard(frozenset((p, q)))
        while len(neighbours[line[-1]]) == 2:
            onward = next((n for n in neighbours[line[-1]] if frozenset((line[-1], n)) in left), None)
            if onward is None:
                break
            left.discard(frozenset((line[-1], onward)))
            line.append(onward)
        return line

    ends = [node for node, others in neighbours.items() if len(others) != 2]
    for node in [*ends, *neighbours]:  # what is left after the open lines are closed ones
        for other in neighbours[node]:
            if frozenset((node, other)) in left:
                lines.append(np.array(follow(node, other)))
    return lines
