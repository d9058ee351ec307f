"""Uncertainty sets: where the true point may lie, given the one observed. Margins are then the worst over the set.

A set U around ``x`` turns the margin into ``m(w) = min over x' in U of y (x' * w)``. As a minimum of linear functions
it is concave in w, so the hinge risk stays convex, and the worst ``x'`` gives a supergradient, ``z' = y covector(x')``.
`GeodesicBall` is intrinsic and exact; the sets of `linearised` are those of the paper (app:robust).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hypermargin.arrays import Array
from hypermargin.geometry.lorentz import covector, fixed_order_product, lift, quadratic_form
from hypermargin.geometry.metric import project_to_tangent, tangent_norm

#: Beyond this radius the coordinates of a ball and of the light cone are the same in double precision.
MAX_RHO = 18.0
#: Below this share of ``m^2`` the sum ``q + m^2`` has lost four digits or more.
CANCELLING = 1e-4
#: Tangent parts shorter than this share of ``|m|`` are not followed all the way: their squares are 1e-14 of ``m^2``, of
#: which rounding leaves two digits.
FLOOR = 1e-7
#: Tangent parts shorter than this share of ``x0 |w|`` have lost nearly all digits, and are not followed at all: their
#: squares are differences of numbers that are 2^48 times as large.
FLAT = 2.0**-24
#: A normal is in the light cone if ``|wr|^2`` is below ``t^2``, or above by less than this share.
ON_CONE = 1e-12
#: A multiple (`cone_factors`) that is above a worst margin by this share of the nominal one is tied with it. Ties are
#: what lightlike normals and points at the origin have, and rounding must not decide them: multiples are taken.
TIED = 1e-9


@dataclass(frozen=True, eq=False)
class UncertaintySet(ABC):
    """A set around each point; `rho` is its size, one number or one per sample, shape (n,)."""

    rho: float | Array

    def __post_init__(self) -> None:
        rho = np.array(self.rho, dtype=np.float64)
        if rho.ndim > 1 or rho.size == 0:
            raise ValueError(f"rho must be a number or one number per sample, got shape {rho.shape}")
        if not (np.all(np.isfinite(rho)) and np.all(rho >= 0.0)):
            raise ValueError("rho must be finite and not negative")
        rho.flags.writeable = False
        object.__setattr__(self, "rho", float(rho) if rho.ndim == 0 else rho)

    def check(self, n_samples: int, dim: int) -> None:
        """Raise `ValueError` where the set does not fit n samples in dimension d."""
        if np.ndim(self.rho) and np.shape(self.rho) != (n_samples,):
            raise ValueError(f"rho must be a number or have shape ({n_samples},) to match X, got {np.shape(self.rho)}")

    def take(self, indices: ArrayLike) -> Self:
        """The sets of the samples `indices`, in their order."""
        return replace(self, rho=_rows(self.rho, indices, "rho")) if np.ndim(self.rho) else self

    def scaled(self, factor: float) -> Self:
        """The set with all lengths times `factor`: from a space of curvature ``-c`` to -1 it is ``sqrt(c)``."""
        return self if factor == 1.0 else replace(self, rho=factor * np.asarray(self.rho))

    def cone_factors(self, m: Array, dim: int) -> Array:
        """Numbers a of every sample such that no spacelike w has a worst margin above ``a`` times its nominal one.

        Of the two ends of `cone_range` the one that is worse for the given nominal margins, in dimension `dim`.
        """
        least, largest = self.cone_range(dim)
        return np.where(m > 0.0, least, largest)

    def cone_range(self, dim: int) -> tuple[Array, Array]:
        """The least and the largest a, at most 1 and at least 1, one for all samples or one per sample.

        For ``q >= 0`` the part of w that is tangent at x has the length ``sqrt(q + m^2) >= |m|``. So a set that holds
        steps of the length k in all tangent directions has worst margins of at most ``m - k |m|``, whatever the
        direction of w. No point of the set does as much for all of them. Here 1 and 1, which any set has.
        """
        return np.ones(()), np.ones(())

    @abstractmethod
    def worst_margins(self, X: Array, y: Array, w: Array) -> Array:
        """``min over x' of y (x' * w)`` for every sample; X (n, d + 1), y (n,) and w (d + 1,) to (n,)."""

    @abstractmethod
    def worst_covectors(self, X: Array, y: Array, w: Array) -> Array:
        """Supergradients of the worst margins at w: ``y covector(x')`` of a worst ``x'``, shape (n, d + 1)."""

    @abstractmethod
    def worst_points(self, X: Array, y: Array, w: Array) -> Array:
        """A worst point on the hyperboloid for every sample, shape (n, d + 1)."""


@dataclass(frozen=True, eq=False)
class GeodesicBall(UncertaintySet):
    """All points within the hyperbolic distance `rho` of the one observed. Isometry-invariant, and exact.

    With ``m = y (x * w)`` and T the length of w's part tangent at x, ``T^2 = q(w) + m^2``, the worst margin over the
    sphere of radius r is ``cosh(r) m - sinh(r) T``. It falls with r up to `rho`, unless w is timelike and the ball
    holds the point ``y w / sqrt(-q)``; then that is the worst.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.any(np.asarray(self.rho) > MAX_RHO):
            raise ValueError(f"rho = {np.max(self.rho):.3g} is beyond {MAX_RHO:.0f}, where double precision ends")

    def worst_margins(self, X: Array, y: Array, w: Array) -> Array:
        return self.worst_of(_margins(X, y, w), y[:, None] * covector(X), w)

    def worst_of(self, m: Array, Z: Array, w: Array) -> Array:
        """The worst margins from the nominal ones m and rows ``z = y covector(x)``."""
        q = float(quadratic_form(w))
        tangent = tangent_length(Z, w, m, q)
        cosh, sinh = np.cosh(self.rho), np.sinh(self.rho)
        worst = cosh * m - sinh * tangent
        if q >= 0.0:  # for m > 0 the same as a quotient, since the difference of two large numbers loses digits
            reach, ahead = sinh * np.sqrt(q), m > 0.0
            total = np.where(ahead, cosh * m + sinh * tangent, 1.0)
            worst = np.where(ahead, (m - reach) * ((m + reach) / total), worst)
        return np.where(self._holds_normal(m, q, tangent), np.sqrt(max(-q, 0.0)), worst)

    def worst_covectors(self, X: Array, y: Array, w: Array) -> Array:
        Z = y[:, None] * covector(X)
        along, across = self.coefficients(Z, w)
        return along[:, None] * Z + across[:, None] * covector(w)

    def worst_points(self, X: Array, y: Array, w: Array) -> Array:
        along, across = self.coefficients(y[:, None] * covector(X), w)
        points = lift(along[:, None] * X[:, 1:] + (y * across)[:, None] * w[1:])
        undirected = np.flatnonzero(across == 0.0)  # w is 0 or normal to no direction at x: all directions are alike
        if undirected.size:
            any_way = project_to_tangent(X[undirected], np.eye(X.shape[1])[1])
            any_way /= tangent_norm(X[undirected], any_way)[:, None]
            rho = np.broadcast_to(self.rho, y.shape)[undirected, None]
            points[undirected] = lift((np.cosh(rho) * X[undirected] + np.sinh(rho) * any_way)[:, 1:])
        return points

    def coefficients(self, Z: Array, w: Array) -> tuple[Array, Array]:
        """Numbers a, b of every sample with ``z' = a z + b covector(w)``, from its ``z = y covector(x)``.

        Where T = 0, or is lost in what it is the difference of (`FLAT`), no direction is known to be worse than another
        and z' is their mean, a point of the convex hull of the ball (or x itself, where that is worse);
        where T is below `FLOOR` the step across is shortened, so that rounding errors of T do not turn it.
        """
        m, q = fixed_order_product(Z, w[:, None])[:, 0], float(quadratic_form(w))
        tangent = tangent_length(Z, w, m, q)
        directed = tangent > FLAT * np.abs(Z[:, 0]) * float(np.abs(w).sum())
        step = np.where((q < 0.0) & (m < 0.0), np.maximum(tangent, FLOOR * np.abs(m)), tangent)
        across = np.where(directed, np.sinh(self.rho) / np.where(directed, step, 1.0), 0.0)
        along = np.where(directed | (m < 0.0), np.cosh(self.rho), 1.0) - across * m
        inside = self._holds_normal(m, q, tangent)
        if np.any(inside):
            along = np.where(inside, 0.0, along)
            across = np.where(inside, 1.0 / np.sqrt(max(-q, np.finfo(float).tiny)), across)
        return along, across

    def cone_range(self, dim: int) -> tuple[Array, Array]:
        """The worst margin ``cosh(rho) m - sinh(rho) sqrt(q + m^2)`` is at most ``exp(-rho) m`` and ``exp(rho) m``.

        For lightlike w it is the lesser of these, for all their directions at once.
        """
        return np.exp(-np.asarray(self.rho)), np.exp(self.rho)

    def _holds_normal(self, m: Array, q: float, tangent: Array) -> NDArray[np.bool_]:
        """Whether w is timelike and ``y w / sqrt(-q)`` a point of the ball."""
        return (q < 0.0) & (m > 0.0) & (tangent < np.tanh(self.rho) * m)


def in_cone(w: Array) -> NDArray[np.bool_]:
    """Whether normals, shape (..., d + 1), are timelike, or lightlike up to rounding."""
    return np.asarray(np.sum(w[..., 1:] ** 2, axis=-1) < (1.0 + ON_CONE) * w[..., 0] ** 2)


def _margins(X: Array, y: Array, w: Array) -> Array:
    return y * (X @ covector(w))


def tangent_length(Z: Array, w: Array, m: Array, q: float) -> Array:
    """``T = sqrt(q + m^2)``, the length of w's part tangent at each point, from rows ``z = y covector(x)``.

    Where a timelike w is nearly parallel to x this cancels; there it is taken from the tangent part itself, of which
    ``vr = wr - (x * w) xr`` and ``T^2 = |vr|^2 - (xr.vr)^2/x0^2``.
    """
    square = q + m * m
    if q < 0.0:
        near = np.flatnonzero(square < CANCELLING * m * m)
        if near.size:
            part = w[1:] + m[near, None] * Z[near, 1:]
            along = np.sum(Z[near, 1:] * part, axis=1) / Z[near, 0]
            square[near] = np.sum(part * part, axis=1) - along * along
    return np.sqrt(np.maximum(square, 0.0))


def _rows(values: float | Array, indices: ArrayLike, name: str) -> Array:
    """``values[indices]``, or a `ValueError` where there are not so many."""
    values, rows = np.asarray(values), np.asarray(indices)
    if rows.size and int(np.max(rows)) >= len(values):
        raise ValueError(f"{name} has {len(values)} entries, fewer than there are samples")
    return values[rows]
