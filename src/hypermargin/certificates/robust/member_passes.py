"""The sums of `members` over some samples, for all points of a certificate at once, by `compiled.members`."""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates.robust.compiled import members as compiled_members
from hypermargin.certificates.robust.members import cone_multiples, form_bound, noise_errors, x0_errors
from hypermargin.geometry.isometries import frame_entry
from hypermargin.geometry.lorentz import covector, quadratic_form
from hypermargin.problems.linearised import Box, CrossPolytope, Ellipsoid, LinearisedSet, OriginJacobian
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall

#: Numbers of samples of each class in the cuts, shape (points, 2), and the sums of `members.Sums`, each of shape
#: (points, d + 2).
AllSums = tuple[Array, Array, Array, Array]


class CompiledMembers:
    """Cuts at the rows w of `points`, in the frame around `centre`; those of `outside` are W (`Members.worst`).

    `kinds` says which members cuts have (`members`).
    """

    def __init__(self, problem: MarginProblem, centre: Array, points: Array, outside: Array, kinds: Array):
        self.X, self.y, self.costs, self.noise = problem.X, problem.y, problem.costs, problem.uncertainty
        frame = frame_entry(centre)
        self.outside = outside
        if isinstance(self.noise, GeodesicBall):
            at_points = [quadratic_form(points), outside, np.array([form_bound(W) for W in outside])]
        else:
            at_points = [covector(outside)]
        self.cuts = [np.ascontiguousarray(rows, dtype=np.float64) for rows in (frame, points, *at_points)]
        self.cuts.append(np.ascontiguousarray(kinds, dtype=np.intp))

    def sums(self, rows: slice, threshold: float) -> AllSums:
        """The sums over those of these samples whose margins are below the threshold."""
        samples = [np.ascontiguousarray(self.X[rows]), self.y[rows], self.costs[rows]]
        n_points, width = self.outside.shape
        values, magnitudes = np.zeros((n_points, width + 1)), np.zeros((n_points, width + 1))
        counts, extra = np.zeros((n_points, 2)), np.zeros(n_points)
        out = [values, magnitudes, counts, extra]
        if isinstance(self.noise, GeodesicBall):
            slack = np.zeros(n_points)
            parts = _ball_parts(self.noise, rows, width - 1)
            compiled_members.ball_sums(*[*samples, *parts, *self.cuts, threshold, *out, slack])
            values[:, 1:] += extra[:, None] * covector(self.outside)
            magnitudes[:, 1:] += extra[:, None] * np.abs(self.outside)
            distances = x0_errors(magnitudes)
            distances[:, 1:] += slack[:, None]
            return counts, values, magnitudes, distances
        assert isinstance(self.noise, LinearisedSet)
        parts = _linearised_parts(self.noise, samples[0], rows)
        room = np.empty((3, width - 1))
        compiled_members.linearised_sums(*[*samples, *parts, *self.cuts, threshold, *out, room])
        return counts, values, magnitudes, x0_errors(magnitudes) + extra[:, None]


def _ball_parts(noise: GeodesicBall, rows: slice, dim: int) -> tuple[Array, ...]:
    """cosh, sinh and tanh of rho, and the multiples of cuts that hold for spacelike normals."""
    rho = _own(noise.rho, rows)
    return np.cosh(rho), np.sinh(rho), np.tanh(rho), *cone_multiples(noise, rho, dim)


def _linearised_parts(noise: LinearisedSet, X: Array, rows: slice) -> tuple:
    """What `compiled.members.linearised_sums` takes of the Jacobians and the sets."""
    jacobian, rho, dim = OriginJacobian.at(X), _own(noise.rho, rows), X.shape[1] - 1
    shape, kind = np.zeros((0, dim, dim)), compiled_members.ROUND
    if isinstance(noise, Box):
        kind = compiled_members.BOX
    elif isinstance(noise, CrossPolytope):
        kind = compiled_members.CROSS_POLYTOPE
    elif isinstance(noise, Ellipsoid):
        shape = np.ascontiguousarray(noise.shape[rows] if noise.shape.ndim == 3 else noise.shape[None])
    errors = noise_errors(noise, rows, jacobian.cosh, dim)
    parts = jacobian.unit, jacobian.sinh, jacobian.cosh - jacobian.stretch, jacobian.stretch, rho, errors
    multiples = cone_multiples(noise, rho, dim)
    return *parts, *multiples, kind, shape, np.sqrt(np.sum(shape**2, axis=(-2, -1)))


def _own(values: float | Array, rows: slice) -> Array:
    """Entries of one number for all (one entry) or one per sample that belong to these rows."""
    return np.full(1, values) if np.ndim(values) == 0 else np.ascontiguousarray(np.asarray(values)[rows])
