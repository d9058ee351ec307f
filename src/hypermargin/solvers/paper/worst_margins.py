"""Worst-case margins for the relaxations: as cone constraints, as polynomials, and the members their multipliers name.

For every set the worst margin of sample i has the form ``factor_i m_i(w) - reach_i |D_i w|`` in one of three norms: the
l1 norm for boxes, the largest entry for cross-polytopes, the Euclidean norm for the others (for geodesic balls, with
D_i w the part of w tangent at x_i, it is that for ``q(w) >= 0``). So ``factor_i z_i`` is a point of the convex hull of
the set, and so is ``factor_i z_i + D_i' u`` for every u in reach_i times the unit ball of the dual norm.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import clarabel
import numpy as np
from scipy import sparse

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import covector
from hypermargin.problems.linearised import Ellipsoid, LinearisedSet, OriginJacobian
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall
from hypermargin.solvers.paper.dual_weights import SUM_ROUNDING, DualBound, Samples, tail_from

#: Boxes have 2^d corners; where those are listed, up to this many: six dimensions. Each is a constraint of every group.
MAX_CORNERS = 64
#: Directions in which round sets are described by points, beside the members that are worst at known normals: an
#: octagon holds cos(pi/8), 92 %, of the radius in all directions.
DIRECTIONS = 8


@dataclass(frozen=True, eq=False)
class WorstMargins:
    """The numbers above: `parts` has shape (n, d, d + 1) and acts on w; `norm` is "l1", "max" or "l2"."""

    samples: Samples
    reach: Array
    parts: Array
    norm: str

    @classmethod
    def of(cls, problem: MarginProblem) -> "WorstMargins | None":
        """Those of the samples with positive cost; None where the problem has no uncertainty set.

        Samples are not merged: equal points may have different sets. Their covectors are ``factor_i z_i``.
        """
        noise = problem.uncertainty
        if noise is None:
            return None
        used = problem.costs > 0.0
        X, Z, costs = problem.X[used], problem.signed_covectors[used], problem.costs[used]
        rho = np.broadcast_to(noise.rho, problem.y.shape)[used]
        if isinstance(noise, GeodesicBall):
            norm, factor, reach = "l2", np.cosh(rho), np.sinh(rho)
            parts = np.stack([covector(boost(x)[1:]) for x in X])
        elif isinstance(noise, LinearisedSet):
            norm, factor, reach = noise.dual_norm, np.ones_like(rho), rho
            jacobian = OriginJacobian.at(X)
            axes = np.eye(problem.dim)
            columns = [jacobian.push_forward(np.broadcast_to(axis, (len(X), problem.dim))) for axis in axes]
            parts = np.stack([covector(column) for column in columns], axis=1)
            if isinstance(noise, Ellipsoid):
                shape = noise.shape[used] if noise.shape.ndim == 3 else noise.shape
                parts = np.einsum("...ij,...ik->...jk", shape, parts)
        else:
            raise ValueError(f"the relaxations do not know the uncertainty set {noise!r}")
        samples = Samples(factor[:, None] * Z, costs, np.arange(len(X)), used)
        return cls(samples, reach, parts, norm)

    def spread_bound(self, centre: Array, basis: Array) -> Array:
        """At least ``|D_i w|`` for every ``w = centre + basis v`` with ``|v| <= 1``; shape (n,)."""
        sizes = np.abs(self.parts @ centre) + np.linalg.norm(self.parts @ basis, axis=2)
        if self.norm == "l1":
            return np.sum(sizes, axis=1)
        return np.max(sizes, axis=1) if self.norm == "max" else np.linalg.norm(sizes, axis=1)

    # -- polynomials ---------------------------------------------------------------------------------------------------

    def corners(self, near: Sequence[Array] = ()) -> Iterator[Array]:
        """Covectors of points of the sets, each (n, d + 1): no worst margin is above the margins of these.

        For polyhedral sets they are the corners, and the worst margin is the least over them. For round ones they are
        points in evenly spaced directions (d = 2) or along the axes, and those given, whose covectors are `near`.
        """
        d = self.parts.shape[1]
        if self.norm == "l1":
            if 2**d > MAX_CORNERS:
                raise ValueError(f"a box in dimension {d} has {2**d} corners; use a ball or a cross-polytope")
            fixed = np.array(list(product((-1.0, 1.0), repeat=d)))
        elif self.norm == "l2" and d == 2:
            angles = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
            fixed = np.column_stack([np.cos(angles), np.sin(angles)])
        else:
            fixed = np.vstack([np.eye(d), -np.eye(d)])
        for u in fixed:
            yield self.samples.Z + self.reach[:, None] * np.einsum("j,njk->nk", u, self.parts)
        if self.norm == "l2":
            yield from near

    # -- cone constraints ----------------------------------------------------------------------------------------------

    def extend(
        self, c: Array, A: sparse.csc_matrix, b: Array, cones: list, first_margin: int, first_w: int, basis: Array
    ) -> tuple[Array, sparse.csc_matrix, Array, list]:
        """The program ``b - A x in cones`` with the spreads as further unknowns (paper, app:robust: "auxiliary").

        Its margin rows begin at `first_margin` and its unknowns v, ``w = basis v``, at `first_w`.
        """
        n, d, k = self.parts.shape
        each = d if self.norm == "l1" else 1  # unknowns per sample
        width = A.shape[1]
        margins = sparse.lil_matrix((A.shape[0], n * each))
        for i in range(n):
            margins[first_margin + i, i * each : (i + 1) * each] = self.reach[i]
        directions = (self.parts @ basis).reshape(n * d, k)
        on_w = sparse.hstack(
            (
                sparse.csr_matrix((n * d, first_w)),
                sparse.csr_matrix(directions),
                sparse.csr_matrix((n * d, width - first_w - k)),
            )
        )
        unknown = sparse.identity(n * each) if each == d else sparse.kron(sparse.identity(n), np.ones((d, 1)))
        if self.norm == "l2":
            heads = sparse.hstack((sparse.csr_matrix((n, width)), sparse.identity(n))).tocsr()
            tails = sparse.hstack((on_w, sparse.csr_matrix((n * d, n)))).tocsr()
            order = np.concatenate([np.r_[i, n + i * d + np.arange(d)] for i in range(n)])
            rows = sparse.vstack((heads, tails)).tocsr()[order]
            cones = [*cones, *([clarabel.SecondOrderConeT(d + 1)] * n)]
        else:
            rows = sparse.vstack((sparse.hstack((on_w, unknown)), sparse.hstack((-on_w, unknown))))
            cones = [*cones, clarabel.NonnegativeConeT(2 * n * d)]
        A = sparse.csc_matrix(sparse.vstack((sparse.hstack((A, margins)), -rows)))
        return np.concatenate((c, np.zeros(n * each))), A, np.concatenate((b, np.zeros(rows.shape[0]))), cones

    def members(self, dual: Array, weights: Array) -> Samples:
        """The samples with the members of their sets that the multipliers of an extended program stand for.

        Stationarity in the spreads makes the multipliers u_i of ``D_i w`` at most ``reach_i a_i`` long in the dual
        norm, a_i those of the margins; here they are shortened to that where they are not.
        """
        n, d, _ = self.parts.shape
        if self.norm == "l2":
            u = dual[-n * (d + 1) :].reshape(n, d + 1)[:, 1:]
            size = np.linalg.norm(u, axis=1)
        else:
            plus, minus = dual[-2 * n * d :].reshape(2, n, d)
            u = plus - minus
            size = np.max(np.abs(u), axis=1) if self.norm == "l1" else np.sum(np.abs(u), axis=1)
        allowed = self.reach * np.maximum(weights, 0.0)
        u = u * np.where(size > allowed, allowed / np.where(size > 0.0, size, 1.0), 1.0)[:, None]
        share = u / np.where(weights > 0.0, weights, 1.0)[:, None] * (weights > 0.0)[:, None]
        return replace(self.samples, Z=self.samples.Z + np.einsum("nj,njk->nk", share, self.parts))

    def bound(self, weights: Array, members: Samples, centre: Array) -> DualBound:
        """What weights prove that satisfy ``sum a_i z'_i = 0`` only nearly, for the soft margin.

        In the frame of `centre` the minorant ``q/2 + sum a_i (1 - z'_i.w)`` is bounded for each ``|t| = s`` by the
        concave function of the exact method (docs/exact-theory.md), hence up to any s by its values at 0 and s. Beyond
        it the cut of all samples of one class takes over, whose slope is timelike.
        """
        a, outwards = np.clip(weights, 0.0, self.samples.upper), boost(centre)
        total = float(np.sum(a)) * (1.0 - 1e-12)  # rounding of the sums
        slope, error = -outwards @ (a @ members.Z), _moved_error(outwards, a, members.Z)
        length, value = float(np.linalg.norm(slope[1:]) + np.linalg.norm(error[1:])), total
        for sign in (1.0, -1.0):
            tail = np.where(sign * self.samples.Z[:, 0] < 0.0, self.samples.upper, 0.0)
            against, off = -outwards @ (tail @ self.samples.Z), _moved_error(outwards, tail, self.samples.Z)
            across = float(np.linalg.norm(against[1:]) + np.linalg.norm(off[1:]))
            rise, offset = sign * float(against[0]) - float(off[0]) - across, float(np.sum(tail)) * (1.0 - 1e-12)
            if not rise > 0.0:
                return DualBound(np.zeros_like(a), 0.0)
            s = tail_from(total, offset, rise, across)
            loss = 0.5 * (length**2 + s**2) if length >= s else length * s
            along = sign * float(slope[0]) - float(error[0])
            value = min(value, total - 0.5 * length**2, total + along * s - loss)
        return DualBound(a, value)


def _moved_error(outwards: Array, weights: Array, Z: Array) -> Array:
    """Errors of the entries of ``outwards @ (weights @ Z)``: far from the origin they are of the size of the sum."""
    return SUM_ROUNDING * (np.abs(outwards) @ (weights @ np.abs(Z)))
