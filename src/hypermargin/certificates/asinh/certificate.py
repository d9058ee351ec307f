"""The certificate of a lower bound for the asinh objective: a tree of boxes covering all w, with a proof of each leaf.

It rests on four facts (docs/asinh.md has the proofs).

1. Margins are linear, so on a box of w each has an interval. For any slope in [-1, 0] the loss has an affine lower
   bound there in closed form, and where the interval ends before 1 a quadratic one.
2. ``q(w)/2 >= lam q(w)/2`` for every ``lam <= 1``, since ``q(w) >= 0`` (for lam in [0, 1] if timelike w are allowed).
3. ``x'Ax/2 >= x'(A + D)x/2 - sum(D)/2`` on ``[-1, 1]^k``; for ``A + D >= 0`` a tangent plane bounds that in turn.
4. Far out the samples on the wrong side of a cone of directions cost more and more.

All of it happens in a Lorentz frame, whose matrix is part of the certificate.

The check walks through the trees and bounds the objective on every leaf. The losses of samples on a box are summed by
`BoxLosses` (compiled), with the size of all terms; what is done here with the few sums of a leaf charges every rounding
to the bound.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import frexp, inf, isfinite
from typing import Any, ClassVar

import numpy as np

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arrays import Array
from hypermargin.certificates.asinh.compiled.losses import BoxLosses, loss_below
from hypermargin.certificates.asinh.proof import GRID, WEIGHTS, BoxLeaf, BoxProof, Frame
from hypermargin.certificates.core.certificate import Certificate, CertificateError
from hypermargin.problems.margin import MarginProblem

#: Halvings of a side at most: fewer than the 53 bits of a double, so that centres and half sides are not rounded.
MOST_HALVINGS = 48
#: Operations that a number may have gone through besides the sum over the samples.
OPERATIONS = 200
#: Points of the table of chords between -2.7 and 0: interpolation is off by (2.7/4096)^2/8 = 5e-8 times a curvature,
#: which makes bounds by so little worse, and not wrong.
CHORDS = 4096


@dataclass(frozen=True, eq=False)
class AsinhCertificate(BoxProof, Certificate):
    """A lower bound for the asinh objective of a margin problem; its parameters are those of `BoxProof`."""

    FORMAT: ClassVar[str] = "hypermargin-asinh-2"
    PROVES: ClassVar[str] = "no boundary has a smaller asinh objective than the lower bound"
    LOSS: ClassVar[str] = "asinh"
    KEYED: ClassVar = Certificate.KEYED | {"whole_intervals"}

    def _bound(self, problem: MarginProblem) -> float:
        """See `Certificate.bound_for`."""
        return verified_lower_bound(self, problem)


def verified_lower_bound(proof: BoxProof, problem: MarginProblem) -> float:
    """A rigorous lower bound for the asinh objective, at least 0."""
    _check_shape(proof, problem)
    if not proof.tree:  # nothing is claimed but that the objective is not negative
        return 0.0
    frame = Frame(proof.frame)
    Z, doubt = frame.samples(problem)
    costs = np.ascontiguousarray(problem.costs, dtype=np.float64)
    starts = _margins_from(costs, proof.cutoff)
    with np.errstate(all="ignore"):  # what overflows proves nothing
        losses = BoxLosses(Z, costs, doubt, starts, ends_of_chords())
        checker = _Checker(proof, losses, frame.defect, problem)
        return max(0.0, min(proof.cutoff, checker.outside(), checker.inside()))


class _Checker:
    def __init__(self, proof: BoxProof, losses: BoxLosses, defect: float, problem: MarginProblem) -> None:
        self.proof, self.losses, self.defect = proof, losses, defect
        self.k, self.n = problem.dim + 1, problem.n_samples
        self.allow_timelike = problem.allow_timelike
        self.form = np.array([-1.0] + [1.0] * problem.dim)
        self.everything = np.arange(self.n, dtype=np.intc)
        self.rounding = (self.n + OPERATIONS) * U

    # -- outside the first box ---------------------------------------------------------------------------------------

    def outside(self) -> float:
        """The least bound over all w that are not in the first box."""
        least = inf

        def visit(centre: Array, radius: Array, active: Array, is_leaf: bool) -> Array:
            nonlocal least
            low, high = centre - radius, centre + radius
            smallest, largest = self._form_range(low, high)
            risk = self.losses.outside(low, high, self.proof.half_side, active)
            if is_leaf and not (largest < 0.0 and not self.allow_timelike):
                margin_term = 0.5 * self.proof.half_side**2 * max(0.0, smallest)
                bound = (margin_term + risk) * (1.0 - self.rounding)
                least = min(least, bound if isfinite(bound) else 0.0)
            return self.losses.unsettled()

        for face, pieces in enumerate(self.proof.directions):
            centre, radius = np.zeros(self.k), np.ones(self.k)
            centre[face // 2], radius[face // 2] = (-1.0, 1.0)[face % 2], 0.0
            _walk(pieces, centre, radius, self.everything, visit)
        return least if isfinite(least) else 0.0

    def _form_range(self, low: Array, high: Array) -> tuple[float, float]:
        """Bounds of ``q(w)``, outside the frame, for w of a box."""
        largest = np.maximum(np.abs(low), np.abs(high)) ** 2
        least = np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(np.abs(low), np.abs(high))) ** 2
        doubt = self.k * largest.sum() * (self.defect + 4.0 * U * self.k)
        return least[1:].sum() - largest[0] - doubt, largest[1:].sum() - least[0] + doubt

    # -- inside it ---------------------------------------------------------------------------------------------------

    def inside(self) -> float:
        """The least bound over the leaves of the tree of boxes."""
        k, least, leaves = self.k, inf, iter(self.proof.leaves)

        def visit(centre: Array, radius: Array, handed: tuple[Array, Array], is_leaf: bool) -> tuple[Array, Array]:
            nonlocal least
            active, sums = handed
            if is_leaf:
                leaf, void = next(leaves), self._form_range(centre - radius, centre + radius)[1] < 0.0
                if self.allow_timelike or not void:
                    least = min(least, self._leaf_bound(leaf, centre, radius, active, sums.copy()))
                return handed
            more = sums.copy()
            settled = self.losses.settle(centre, radius, active, self.proof.settled, more, self.proof.whole_intervals)
            return (self.losses.unsettled(), more) if settled else handed

        root = (np.zeros(k), np.full(k, self.proof.half_side))
        _walk(self.proof.tree, *root, (self.everything, np.zeros(2 + k + k * k)), visit)
        return least

    def _leaf_bound(self, leaf: BoxLeaf, centre: Array, radius: Array, active: Array, sums: Array) -> float:
        if not self.losses.settle(centre, radius, active, self.proof.leaf_settled, sums, False):
            return self.proof.cutoff
        self.losses.add_minorants(centre + radius * (leaf.points / GRID), leaf.weights / WEIGHTS, sums)
        return self._least_quadratic(leaf, centre, radius, sums)

    def _least_quadratic(self, leaf: BoxLeaf, centre: Array, radius: Array, sums: Array) -> float:
        """A lower bound on a box of ``lam q/2`` and the sums; x are coordinates of the box, in [-1, 1]."""
        k, lam = self.k, leaf.lam
        size, offset, slope, matrix = sums[0], sums[1], sums[2 : 2 + k], sums[2 + k :].reshape(k, k)
        x = np.clip(leaf.minimiser / GRID, -1.0, 1.0)
        far = np.abs(centre) + radius
        A = matrix + np.diag(lam * self.form)
        at_centre = A @ centre
        base = offset + slope @ centre + 0.5 * centre @ at_centre
        tilt = radius * (slope + at_centre)
        A = radius[:, None] * A * radius
        D = _convexifier(A)
        B = A + np.diag(D)
        steepness = B @ x
        bound = base - 0.5 * D.sum() - 0.5 * x @ steepness - np.abs(tilt + steepness).sum()
        magnitude = (
            size
            + np.abs(offset)
            + np.abs(slope) @ far
            + far @ np.abs(matrix) @ far
            + abs(lam) * (far @ far)
            + D.sum()
            + np.abs(B).sum()
        )
        bound -= self.rounding * magnitude + abs(lam) * self.defect * far.sum() ** 2
        return float(bound) if isfinite(bound) else -inf


def _walk(tree: Sequence[int], centre: Array, radius: Array, state: Any, visit: Callable[..., Any]) -> None:
    """Visit the boxes of a tree in preorder, each with what the visit of the box that it is a half of returned."""
    smallest, waiting = radius.max() * 2.0**-MOST_HALVINGS, [(centre, radius, state)]
    for axis in tree:
        if not waiting:
            raise CertificateError("a tree of the certificate goes on after its end")
        centre, radius, state = waiting.pop()
        state = visit(centre, radius, state, axis == -1)
        if axis == -1:
            continue
        if not 0 <= axis < len(centre) or not radius[axis] > smallest:
            raise CertificateError("a box of the certificate cannot be halved as it says")
        half = radius.copy()
        half[axis] *= 0.5
        for side in (1.0, -1.0):
            middle = centre.copy()
            middle[axis] += side * half[axis]
            waiting.append((middle, half, state))
    if waiting:
        raise CertificateError("a tree of the certificate does not cover its box")


def _convexifier(A: Array) -> Array:
    """A diagonal ``D >= 0`` for which ``A + diag(D)`` is positive semidefinite, surely.

    A guess from the negative eigenvalues (row sums of the negative part), and then Cholesky's method on a matrix that
    is smaller by more than its rounding: if that comes to an end the matrix is what it should be (Rump, 2006).
    """
    k = len(A)
    values, vectors = np.linalg.eigh(A)
    negative = (vectors * np.minimum(values, 0.0)) @ vectors.T
    slack = 1e-13 * k * np.abs(A).sum()
    D = np.abs(negative).sum(axis=1) + 2.0 * slack + 1e-300
    try:
        np.linalg.cholesky(A + np.diag(D - slack))
    except np.linalg.LinAlgError:  # diagonally dominant
        D = np.maximum(0.0, np.abs(A).sum(axis=1) - np.diag(A)) * (1.0 + 1e-12)
    return D


def _margins_from(costs: Array, cutoff: float) -> Array:
    """For each sample a margin below which it costs at least the cutoff; -1e300 where there is none to speak of."""
    values, which = np.unique(costs, return_inverse=True)
    with np.errstate(all="ignore"):
        guesses = np.sinh(np.arcsinh(1.0) - cutoff / values)
    guesses = guesses - 1e-12 * (1.0 + np.abs(guesses))
    proved = [
        guess if abs(guess) < 1e100 and loss_below(guess) * cost * (1.0 - 4.0 * U) >= cutoff else -1e300
        for guess, cost in zip(guesses.tolist(), values.tolist(), strict=True)
    ]
    return np.array(proved)[which]


@cache
def ends_of_chords() -> Array:
    """For left ends from -2.7 to 0 of an interval, where a chord from there best touches the loss: a table.

    -2.7 is where it touches at the kink: ``(1 - l)/sqrt2 = asinh(1) - asinh(l)``.
    """
    ends = np.linspace(-2.7, 0.0, CHORDS + 1)
    low, high = np.zeros_like(ends), np.ones_like(ends)
    for _ in range(50):
        middle = 0.5 * (low + high)
        below = np.arcsinh(middle) - np.arcsinh(ends) < (middle - ends) / np.sqrt(1.0 + middle * middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def _check_shape(proof: BoxProof, problem: MarginProblem) -> None:
    """The proof is well formed and speaks of problems of this kind."""
    if problem.is_hard:
        raise CertificateError("this certificate bounds a soft-margin problem; the problem has a hard margin")
    if problem.uncertainty is not None:
        raise CertificateError("this certificate is for observed points; the problem has an uncertainty set")
    k = problem.dim + 1
    if proof.frame.shape != (k, k):
        raise CertificateError(f"the certificate is not for dimension {problem.dim}")
    shares = (proof.settled, proof.leaf_settled)
    if not np.isfinite(proof.frame).all() or not 0.0 <= proof.cutoff < inf or not all(s >= 0.0 for s in shares):
        raise CertificateError("the certificate holds numbers that are not finite")
    if not proof.tree:
        return
    if not 1e-100 < proof.half_side < 1e100 or frexp(proof.half_side)[0] != 0.5:
        raise CertificateError("the half side of the first box must be a power of two")
    if len(proof.directions) != 2 * k:
        raise CertificateError("the certificate does not cover all directions")
    if len(proof.leaves) != sum(axis == -1 for axis in proof.tree):
        raise CertificateError("the certificate does not prove as many boxes as it has")
    smallest = 0.0 if problem.allow_timelike else -inf
    for leaf in proof.leaves:
        if not (smallest <= leaf.lam <= 1.0 and abs(leaf.lam) < inf):
            raise CertificateError("a leaf of the certificate takes more than the margin term")
        if leaf.points.shape != (leaf.weights.size, k) or leaf.minimiser.shape != (k,):
            raise CertificateError(f"the certificate is not for dimension {problem.dim}")
        numbers = (leaf.weights, leaf.points, leaf.minimiser)
        if not (leaf.weights >= 0.0).all() or not all(np.isfinite(values).all() for values in numbers):
            raise CertificateError("the certificate holds numbers that are not finite")
