"""How far a point is from another prediction: certified radii, and the nearest points that change the answer.

For one affine score ``f(x) = x * w + b`` all is in closed form. Along the geodesic from x that changes ``m = x * w``
fastest, ``m(r) = cosh(r) m - sinh(r) T`` with ``T^2 = q(w) + m^2``, and f changes sign where this reaches ``-b``. Two
classes and one-vs-rest need nothing else: the other class is ahead on one side of such a level set, so the distance to
the nearest is exact. One-vs-one votes are bounded: from below by which pairs would have to flip, from above by points.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hypermargin.arrays import Array
from hypermargin.estimators.multiclass import OneVsOne, OneVsRest, Scheme
from hypermargin.geometry.lorentz import covector, euclidean_norm, lift, minkowski_dot, quadratic_form
from hypermargin.geometry.metric import distance
from hypermargin.geometry.models import from_lorentz, to_lorentz
from hypermargin.geometry.validation import MAX_RADIUS, WIDER

EPS = float(np.finfo(np.float64).eps)
#: No point that doubles can hold has moved farther.
LONGEST = 40.0
#: How far beyond the boundary adversarial points lie at first, relative to ``1 + distance``, and how often they are
#: moved on, each time at least twice as far: 1e-10 2^37 is 14, most of the largest radius there is.
OVERSHOOT, ATTEMPTS = 1e-10, 38
#: Coordinates of a point at radius r are rounded by ``eps cosh(r)``, which is 1e-8 at the largest radius there is.
RADIUS_ROOM = 1e-6
#: Distances along a ray, relative to the first flip on it, at which votes are counted.
STRIDES = (1.0, 1.1, 1.3, 1.6, 2.0, 3.0)


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Affine scores ``x * w + b``, normals (n_problems, d + 1) and intercepts (n_problems,), and what they decide."""

    scheme: Scheme
    coef: Array
    intercept: Array

    @cached_property
    def _covectors(self) -> Array:
        return covector(self.coef)

    def scores(self, X: Array) -> Array:
        """Scores of Lorentz points, (n, d + 1) to (n, n_problems)."""
        return X @ self._covectors.T + self.intercept

    def winner(self, X: Array) -> np.ndarray:
        """Index of the predicted class of Lorentz points, shape (n,)."""
        return self.scheme.winner(self.scores(X))


def flip_distances(X: Array, normals: Array, intercepts: Array) -> Array:
    """Distances of points, shape (n, d + 1), to where ``x * w + intercept > 0`` changes; inf where never; shape (n, m).

    Normals have shape (m, d + 1), intercepts (m,) or (n, m). With ``E = e^r`` the equation ``m(r) = level`` is
    quadratic, and its first root is taken in a form without cancellation. For a spacelike w it is the difference of two
    signed distances.
    """
    product = X @ covector(normals).T
    sign = np.where(product + intercepts > 0.0, 1.0, -1.0)
    m, level, q = sign * product, -sign * intercepts, quadratic_form(normals)
    root = np.sqrt(np.maximum(q, 0.0))
    tangent = np.sqrt(np.maximum(q + m * m, 0.0))
    length = np.sqrt(np.maximum(level * level + q, 0.0))
    reachable = np.where(level > 0.0, level * level + q >= 0.0, m < 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        across = np.arcsinh(m / root) - np.arcsinh(level / root)
        ratio = np.where(level > 0.0, (m + tangent) / (level + length), (level - length) / (m - tangent))
        around = np.where(reachable, np.log(ratio), np.inf)
    return np.maximum(np.where(q > 0.0, across, around), 0.0)


def safe_distances(X: Array, normals: Array, intercepts: Array) -> Array:
    """Lower bounds of `flip_distances` with normals (m, d + 1) and intercepts (m,) for scores as they are computed.

    Scores carry the rounding of their sums, at the point and where it may move to, where coordinates are larger by
    ``e^r`` at most: levels are taken to be that much nearer. Where not even the sign is clear the distance is 0.
    """
    product = X @ covector(normals).T
    moved = np.exp(np.minimum(flip_distances(X, normals, intercepts), LONGEST))
    rounding = 4.0 * X.shape[1] * EPS * _sizes(X, normals, intercepts, moved)
    nearer = np.where(product + intercepts > 0.0, intercepts - rounding, intercepts + rounding)
    return np.where(np.abs(product + intercepts) > rounding, flip_distances(X, normals, nearer), 0.0)


def _sizes(X: Array, normals: Array, intercepts: Array, growth: Array | float = 1.0) -> Array:
    """What the rounding of scores is relative to, shape (n, m): ``growth |x| . |w| + |b|``."""
    return growth * (np.abs(X) @ np.abs(normals).T) + np.abs(intercepts)


def move_towards_flip(X: Array, w: Array, intercept: float, reach: Array) -> Array:
    """Points at distance `reach`, shape (n,), along the geodesics on which the score changes sign first; (n, d + 1)."""
    product = minkowski_dot(X, w)
    sign = np.where(product + intercept > 0.0, 1.0, -1.0)
    tangent = np.sqrt(np.maximum(float(quadratic_form(w)) + product * product, 0.0))
    unit = sign[:, None] * (w - product[:, None] * X) / np.where(tangent > 0.0, tangent, 1.0)[:, None]
    return lift((np.cosh(reach)[:, None] * X + np.sinh(reach)[:, None] * unit)[:, 1:])


def _by_winner(X: Array, planes: Hyperplanes) -> Iterator[tuple[np.ndarray, Array, Array]]:
    """For each class that is predicted the rows, and normals (m, d + 1) and intercepts (m,) of its duels.

    These are affine functions of which one changes sign where the class loses its place. Two classes: the score itself.
    One-vs-rest: differences of Platt-scaled log-odds.
    """
    winners = planes.winner(X)
    for winner in np.unique(winners).tolist():
        normals, intercepts = planes.coef, planes.intercept
        if isinstance(planes.scheme, OneVsRest):
            A, B = planes.scheme.platt()
            normals, intercepts = -A[:, None] * normals, -(A * intercepts + B)
            others = np.arange(len(A)) != winner
            normals, intercepts = (normals - normals[winner])[others], (intercepts - intercepts[winner])[others]
        yield np.flatnonzero(winners == winner), normals, intercepts


def certified_radius(X: Array, planes: Hyperplanes) -> Array:
    """A radius within which no point is classified differently, shape (n,).

    But for rounding it is the largest one; for votes it is a bound.
    """
    if isinstance(planes.scheme, OneVsOne):
        return _votes_radius(X, planes)
    radius = np.full(len(X), np.inf)
    for rows, normals, intercepts in _by_winner(X, planes):
        radius[rows] = safe_distances(X[rows], normals, intercepts).min(axis=1)
    return radius


# -- adversarial points ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of the user: what is left of unit points that are written in them and read again."""

    geometry: str
    curvature: float
    width: int | None = None  # of polar coordinates in the plane: 2 or 3

    def written(self, points: Array) -> tuple[Array, Array]:
        """Coordinates of unit points, shape (n, width), and the unit points that `predict` reads there, (n, d + 1).

        Rows are NaN in both where `predict` would refuse the coordinates.
        """
        radius = np.arcsinh(euclidean_norm(points[:, 1:]))
        there = radius < MAX_RADIUS - RADIUS_ROOM
        if self.geometry == "klein":
            there &= np.tanh(radius) < 1.0 - 8.0 * EPS  # nearer to the rim the norm may round to 1
        width = self.width or points.shape[1] - (self.geometry not in WIDER)
        coordinates, read = np.full((len(points), width), np.nan), np.full(points.shape, np.nan)
        if there.any():
            coordinates[there] = from_lorentz(points[there], self.geometry, self.curvature, width)
            read[there] = to_lorentz(coordinates[there], self.geometry, self.curvature)
        return coordinates, read


class Attack:
    """The nearest points found so far that are classified differently: `coordinates`, NaN for none, and `distances`.

    Points are judged as they are read from the coordinates of the user, and by more than the rounding of their scores.
    """

    def __init__(self, X: Array, planes: Hyperplanes, space: Coordinates) -> None:
        self.X, self.planes, self.space = X, planes, space
        self.winner = planes.winner(X)
        self.coordinates, _ = space.written(np.full(X.shape, np.nan))
        self.distances = np.full(len(X), np.inf)

    def attempt(self, rows: np.ndarray, w: Array, intercept: float, reach: Array) -> tuple[np.ndarray, Array]:
        """Move samples by `reach` towards where the score of w changes sign; keep what is nearer than before.

        Returns whether the answer changes, and by how much the coordinates moved the points; both of shape (n_rows,).
        """
        X, moved = self.X[rows], move_towards_flip(self.X[rows], w, intercept, reach)
        coordinates, read = self.space.written(moved)
        there = np.isfinite(read[:, 0])
        read = np.where(there[:, None], read, X)
        changed = there & self._is_changed(read, self.winner[rows])
        lengths = distance(X, read)
        nearer = changed & (lengths < self.distances[rows])
        self.coordinates[rows[nearer]], self.distances[rows[nearer]] = coordinates[nearer], lengths[nearer]
        return changed, np.where(there, distance(moved, read), 0.0)

    def _is_changed(self, points: Array, before: np.ndarray) -> np.ndarray:
        """Whether classes differ from `before`, in whatever order the sums of the scores are rounded."""
        planes = self.planes
        scores, favour = planes.scores(points), planes.scheme.code[:, before].T
        # Two ways to add d + 2 numbers differ by that many roundings, and reading a point adds some.
        rounding = (points.shape[1] + 3) * EPS * _sizes(points, planes.coef, planes.intercept)
        return np.logical_and(
            planes.scheme.winner(scores + favour * rounding) != before,
            planes.scheme.winner(scores - favour * rounding) != before,
        )


def nearest_adversarial(X: Array, planes: Hyperplanes, space: Coordinates) -> tuple[Array, Array]:
    """Coordinates of points that are classified differently, shape (n, width), and their distances, shape (n,).

    They lie just beyond the nearest boundary, as far as rounding in the coordinates of the user makes necessary; for
    one-vs-one votes they are the nearest found along geodesics. Where no point was found, or none that these
    coordinates can hold, the row is NaN and the distance infinite.
    """
    attack = Attack(X, planes, space)
    if isinstance(planes.scheme, OneVsOne):
        _attack_votes(attack)
    else:
        _attack_duels(attack)
    return attack.coordinates, attack.distances


def _attack_duels(attack: Attack) -> None:
    """Go straight to the nearest boundary and a little beyond; to the next one where that is out of reach."""
    for rows, normals, intercepts in _by_winner(attack.X, attack.planes):
        lengths = flip_distances(attack.X[rows], normals, intercepts)
        order = np.argsort(lengths, axis=1)
        for nearest in order.T:
            for k in range(len(normals)):
                own = (nearest == k) & np.isfinite(lengths[:, k]) & np.isinf(attack.distances[rows])
                if own.any():
                    _go_beyond(attack, rows[own], normals[k], float(intercepts[k]), lengths[own, k])


def _go_beyond(attack: Attack, rows: np.ndarray, w: Array, intercept: float, lengths: Array) -> None:
    """A little beyond the flip at `lengths`, and farther where rounding still keeps the old answer."""
    beyond = OVERSHOOT * (1.0 + lengths)
    for _ in range(ATTEMPTS):
        changed, blur = attack.attempt(rows, w, intercept, lengths + beyond)
        left = ~changed
        if not left.any():
            break
        rows, lengths, beyond = rows[left], lengths[left], np.maximum(2.0 * beyond, 2.0 * blur)[left]


# -- one-vs-one --------------------------------------------------------------------------------------------------------


def _votes_radius(X: Array, planes: Hyperplanes) -> Array:
    """The least radius at which enough pairs could have flipped for a rival to draw level with the winner.

    A flip takes a vote from one class and gives it to another. For a rival to win it must have at least as many votes
    as the winner has now less those that flips within the radius can cost the difference.
    """
    scheme = planes.scheme
    assert isinstance(scheme, OneVsOne)
    scores, winner = planes.scores(X), planes.winner(X)
    votes, distances = scheme.votes(scores), safe_distances(X, planes.coef, planes.intercept)
    order = np.argsort(distances, axis=1)
    sorted_distances = np.take_along_axis(distances, order, axis=1)
    ahead = np.where(scores > 0.0, scheme.pairs[:, 1], scheme.pairs[:, 0])
    behind = scheme.pairs.sum(axis=1) - ahead
    rows, radius = np.arange(len(X)), np.full(len(X), np.inf)
    own = (ahead == winner[:, None]).astype(int) - (behind == winner[:, None])
    for rival in range(scheme.code.shape[1]):
        gain = own + (behind == rival) - (ahead == rival)
        reached = np.cumsum(np.take_along_axis(np.maximum(gain, 0), order, axis=1), axis=1)
        lead = votes[rows, winner] - votes[:, rival]
        enough = reached >= lead[:, None]
        at = np.where(lead <= 0, 0.0, sorted_distances[rows, np.argmax(enough, axis=1)])
        possible = (rival != winner) & enough[:, -1]
        radius = np.where(possible, np.minimum(radius, at), radius)
    return radius


def _attack_votes(attack: Attack) -> None:
    """The nearest change of answer on the geodesics towards the boundaries of all pairs, refined by bisection."""
    X, planes = attack.X, attack.planes
    lengths = flip_distances(X, planes.coef, planes.intercept)
    normals = list(zip(planes.coef, planes.intercept.tolist(), strict=True))
    best, ray, before = np.full(len(X), np.inf), np.zeros(len(X), dtype=int), np.zeros(len(X))
    for k, (w, b) in enumerate(normals):
        last = np.zeros(len(X))
        for stride in STRIDES:
            reach = stride * lengths[:, k] + OVERSHOOT * (1.0 + lengths[:, k])
            rows = np.flatnonzero(reach < best)
            if rows.size:
                hit = rows[attack.attempt(rows, w, b, reach[rows])[0]]
                best[hit], ray[hit], before[hit] = reach[hit], k, last[hit]
            last = reach
    for k, (w, b) in enumerate(normals):
        rows = np.flatnonzero((ray == k) & np.isfinite(best))
        if rows.size:
            low, high = before[rows], best[rows]
            for _ in range(40):
                middle = 0.5 * (low + high)
                changed, _ = attack.attempt(rows, w, b, middle)
                low, high = np.where(changed, low, middle), np.where(changed, middle, high)
