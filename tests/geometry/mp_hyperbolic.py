"""Textbook formulas in 50-digit arithmetic, written without the package: the judge of its accuracy.

Vectors are lists of mpf. A point of the hyperboloid is given by its space part; doubles enter exactly.
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 50
EPS = float(np.finfo(np.float64).eps)


def exact(values):
    return [mp.mpf(float(v)) for v in values]


def dot(a, b):
    return mp.fsum(p * q for p, q in zip(a, b, strict=True))


def norm(a):
    return mp.sqrt(dot(a, a))


def scaled(factor, a):
    return [factor * v for v in a]


def plus(a, b):
    return [p + q for p, q in zip(a, b, strict=True)]


def minkowski(x, w):
    return x[0] * w[0] - dot(x[1:], w[1:])


def lifted(space):
    return [mp.sqrt(1 + dot(space, space)), *space]


def point(x):
    """The exact point over the space part of a row of doubles."""
    return lifted(exact(x[1:]))


def distance(x, y):
    chord = plus(x, scaled(-1, y))  # acosh(x * y) would lose short distances even here
    return 2 * mp.asinh(mp.sqrt(-minkowski(chord, chord)) / 2)


def exp(x, v):
    length = mp.sqrt(-minkowski(v, v))
    return list(x) if length == 0 else plus(scaled(mp.cosh(length), x), scaled(mp.sinh(length) / length, v))


def log(x, y):
    d = distance(x, y)
    return [mp.mpf(0)] * len(x) if d == 0 else scaled(d / mp.sinh(d), plus(y, scaled(-mp.cosh(d), x)))


def boost_times(p, x):
    """The boost that takes the origin to p, applied to x."""
    along = dot(p[1:], x[1:])
    return [p[0] * x[0] + along, *plus(x[1:], scaled(x[0] + along / (1 + p[0]), p[1:]))]


def to_space(coordinates, geometry):
    """The space part of the point with these coordinates at curvature -1."""
    u = coordinates
    if geometry == "lorentz":
        return u[1:]
    square = dot(u, u)
    if geometry == "poincare":
        return scaled(2 / (1 - square), u)
    if geometry == "klein":
        return scaled(1 / mp.sqrt(1 - square), u)
    if geometry == "tangent":
        r = mp.sqrt(square)
        return scaled(mp.sinh(r) / r if r else mp.mpf(1), u)
    # Half-space: to the ball by inversion in the sphere of radius sqrt(2) around (0, ..., 0, -1), then mirrored.
    shifted = [*u[:-1], u[-1] + 1]
    image = scaled(2 / dot(shifted, shifted), shifted)
    return to_space([*image[:-1], 1 - image[-1]], "poincare")


def from_space(space, geometry):
    """Coordinates at curvature -1 of the point with this space part."""
    x0 = mp.sqrt(1 + dot(space, space))
    if geometry == "lorentz":
        return [x0, *space]
    if geometry == "poincare":
        return scaled(1 / (1 + x0), space)
    if geometry == "klein":
        return scaled(1 / x0, space)
    if geometry == "tangent":
        r = norm(space)
        return scaled(mp.asinh(r) / r if r else mp.mpf(1), space)
    ball = scaled(1 / (1 + x0), space)
    mirrored = [*ball[:-1], 1 - ball[-1]]
    image = scaled(2 / dot(mirrored, mirrored), mirrored)
    return [*image[:-1], image[-1] - 1]


def gap(computed, true):
    """Euclidean norm of the difference, as a float."""
    return float(norm([mp.mpf(float(c)) - t for c, t in zip(computed, true, strict=True)]))


def spread_points(rng, n, dim, max_radius=15.0):
    """Tangent vectors with radii even in [0, max_radius], the origin and tiny radii among them; shape (n, dim)."""
    directions = rng.standard_normal((n, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = np.concatenate([[0.0, 1e-150, 1e-12, 1e-5], np.linspace(0.0, max_radius, n - 4)])
    return radii[:, None] * directions
