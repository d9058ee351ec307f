"""The certificate of a moment relaxation with a ball: sums of squares, and why the ball is large enough.

Suppose that ``f(w) < level`` for some feasible w. Then

1. w lies in the ball ``w = centre + basis v``, ``|v| <= 1``. In the Lorentz frame of a point, w is ``(t, wr)`` with
   ``|wr| <= |t| + sqrt(2 level)``, and its risk is below `level`, so ``sum a_i (1 - z_i.w) <= lambda level`` for all
   weights ``0 <= a_i <= lambda c_i/sqrt2``. For a linear function l of w let ``p = l + sum a_i z_i``. Where ``sign(t)
   p_t + |p_r| <= 0``, ``l.w <= |p_r| sqrt(2 level) + lambda level - sum a_i``. Such weights bound every coordinate of v
   on both sides of ``t = 0``, and the corner of these bounds farthest from 0 is in the ball.
2. The slacks ``xi_i = s_i eta_i``, ``xi_i = max(0, 1 - m_i)/sqrt2``, have ``eta_i`` in [0, 1], because s_i is large
   enough for the ball or for the level. So the polynomials ``g`` of the constraints are not negative at (v, eta).
3. ``f = gamma + sum g (F' [v])^2 + r``. The squares are given by their factors F, which makes them squares whatever the
   rounding. All monomials are at most 1 in size, so ``f >= gamma - sum |coefficients of r|``.

Hence f is nowhere below the smaller of that and `level`. With the hard margin there are no slacks, every ``m_i >= 1``
is a constraint, and the weights a_i have no limit and no price.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, isfinite
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, arb_mat

from hypermargin.arithmetic import in_arb, round_down
from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import Certificate, CertificateError
from hypermargin.certificates.exact_data import ExactData, dot, half_root, matrix_of
from hypermargin.problems.margin import MarginProblem
from hypermargin.safe_io import as_numbers

#: Most monomials of a square. Checking takes memory for all pairs of them (some 50 MB), whatever little a file says of
#: each; the largest of a solver, order 8 in w and one slack in the plane, have 495.
MOST_MONOMIALS = 500
#: Polynomials with enclosed coefficients: from monomials, as sorted tuples of variables, to balls of Arb.
Polynomial = dict[tuple[int, ...], arb]
KINDS = ("one", "cone", "ball", "slack", "range", "margin")


@dataclass(frozen=True, eq=False)
class Extent:
    """Weights that bound a coordinate of v where the frame's t has the sign `half`, or show that half to be empty.

    ``sign * v[coordinate]`` is bounded from above; a sign of 0 shows that the half is empty. `price` is lambda.
    """

    half: int
    coordinate: int
    sign: int
    price: float
    weights: Array

    def check(self, k: int, n: int) -> None:
        """Raise a `CertificateError` where this is no extent in k coordinates by n samples.

        The price multiplies a risk that is not negative, so it must not be negative itself; without any weight a half
        cannot be empty.
        """
        fits = self.weights.shape == (n,) and self.half in (-1, 1) and 0 <= self.coordinate < k
        if not fits or self.sign not in (-1, 0, 1):
            raise CertificateError("an extent of the ball does not fit the problem")
        if not (np.all(np.isfinite(self.weights)) and 0.0 <= self.price < np.inf):
            raise CertificateError("an extent of the ball has a price or weights that are not finite, or negative")
        if self.sign == 0 and not np.any(self.weights):
            raise CertificateError("an extent of the ball shows nothing without weights")


@dataclass(frozen=True, eq=False)
class Squares:
    """The multiplier ``sum (F' [v])^2`` of a constraint of the group: its kind, and of which of the group's samples."""

    kind: str
    sample: int
    factor: Array


@dataclass(frozen=True, eq=False)
class Group:
    """Samples with slacks in the same polynomials; each entry of `samples` lists a point of the data and its copies."""

    samples: tuple[tuple[int, ...], ...]
    slack_scales: tuple[float, ...]
    squares: tuple[Squares, ...]


@dataclass(frozen=True, eq=False)
class MomentCertificate(Certificate):
    """A lower bound for the hinge objective by a moment relaxation with a ball.

    Parameters
    ----------
    order : int
        That of the relaxation: squares are of polynomials of this degree in (v, eta), or one less for constraints.
    level : float
        The bound is at most this.
    scale : float
        Squares are of the objective divided by this.
    centre, basis : (d + 1,), (d + 1, d + 1) arrays
        The ball.
    frame : (d,) array
        Space coordinates of the point whose Lorentz frame the extents are in.
    extents : tuple of Extent
    groups : tuple of Group
    linear : tuple of int
        Samples whose loss is replaced by its tangent ``(1 - m)/sqrt2``; that of samples named nowhere by 0.
    """

    FORMAT: ClassVar[str] = "hypermargin-moment-1"
    PROVES: ClassVar[str] = "no boundary has a smaller objective than the lower bound"

    order: int
    level: float
    scale: float
    centre: Array
    basis: Array
    frame: Array
    extents: tuple[Extent, ...]
    groups: tuple[Group, ...]
    linear: tuple[int, ...]

    def bound_for(self, problem: MarginProblem, *, by_arb: bool = False) -> float:
        """See `Certificate.bound_for`. All of it is done by Arb, whatever `by_arb` says."""
        if problem.uncertainty is not None or problem.allow_timelike:
            raise CertificateError("this certificate is for nominal margins and hyperplanes")
        self._check_form(problem)
        try:
            with in_arb():
                data = ExactData(problem)
                check_ball(data, self.level, self.centre, self.basis, self.frame, self.extents)
                self._check_slacks(data)
                return max(0.0, min(self.level, round_down(self.scale * self._least(data))))
        except ZeroDivisionError as error:
            raise CertificateError("the basis of the certificate is singular") from error

    def _check_form(self, problem: MarginProblem) -> None:
        """Sizes and indices; numbers must be finite, and no sample may be used twice."""
        k, n = problem.dim + 1, problem.n_samples
        named = [i for group in self.groups for copies in group.samples for i in copies] + list(self.linear)
        shapes = self.centre.shape == (k,) and self.basis.shape == (k, k) and self.frame.shape == (k - 1,)
        if not shapes or len(set(named)) != len(named) or not all(0 <= i < n for i in named):
            raise CertificateError("the certificate does not fit the problem")
        numbers: list[Any] = [self.centre, self.basis, self.frame, [self.level, self.scale]]
        numbers += [square.factor for group in self.groups for square in group.squares]
        if not all(np.all(np.isfinite(values)) for values in numbers) or not (self.level > 0.0 and self.scale > 0.0):
            raise CertificateError("the certificate holds numbers that are not finite, or not positive")
        if not 1 <= self.order <= 8 or (problem.is_hard and self.linear):
            raise CertificateError("the certificate is not of a kind that is checked")
        for group in self.groups:
            self._check_group(group, problem)
        for e in self.extents:
            e.check(k, n)

    def _check_group(self, group: Group, problem: MarginProblem) -> None:
        """Check that copies are copies and that factors have the size of their monomials, which are not too many."""
        if len(group.slack_scales) != (0 if problem.is_hard else len(group.samples)):
            raise CertificateError("a group has not as many slacks as samples")
        for copies in group.samples:
            if not copies or any(
                problem.y[i] != problem.y[copies[0]] or np.any(problem.X[i, 1:] != problem.X[copies[0], 1:])
                for i in copies
            ):
                raise CertificateError("samples are taken for one that are not the same point")
        variables = len(self.centre) + len(group.slack_scales)
        if comb(variables + self.order, self.order) > MOST_MONOMIALS:
            raise CertificateError(f"squares of more than {MOST_MONOMIALS} monomials are not checked")
        for square in group.squares:
            of_sample = square.kind in ("slack", "range", "margin")
            if square.kind not in KINDS or (of_sample and not 0 <= square.sample < len(group.samples)):
                raise CertificateError("a square belongs to no constraint")
            degree = self.order - (square.kind != "one")
            rows, columns = square.factor.shape if square.factor.ndim == 2 else (0, 0)
            if rows != comb(variables + degree, degree) or not 1 <= columns <= rows:
                raise CertificateError("the factor of a square has not the size that its degree asks for")

    # -- 2: the slacks -------------------------------------------------------------------------------------------------

    def _check_slacks(self, data: ExactData) -> None:
        for group in self.groups:
            for copies, size in zip(group.samples, group.slack_scales, strict=not data.hard):
                if not (isfinite(size) and size > 0.0):
                    raise CertificateError("the scale of a slack must be positive")
                constant, slope = self._margin(data, copies[0])
                largest = (1 - constant + dot(slope, slope).nonnegative_part().sqrt()) * half_root()
                if not (largest <= size or data.cost(copies) * size >= self.level):
                    raise CertificateError("the scale of a slack is too small for the ball")

    def _margin(self, data: ExactData, i: int) -> tuple[arb, list[arb]]:
        """Constant and slope of ``m_i`` as a function of v."""
        z = data.rows[i]
        return dot(z, self.centre.tolist()), [dot(z, column) for column in self.basis.T.tolist()]

    # -- 3: the squares ------------------------------------------------------------------------------------------------

    def _least(self, data: ExactData) -> arb:
        """``gamma - sum |coefficients of r|`` of the objective divided by the scale; variables are v, then eta."""
        k, scale = len(self.centre), arb(self.scale)
        cone = self._cone()
        shared: Polynomial = {key: value / (2 * scale) for key, value in cone.items()}
        for i in self.linear:
            constant, slope = self._margin(data, i)
            price = data.costs[i] * half_root() / scale
            add(shared, affine(price * (1 - constant), [-price * u for u in slope]))
        private = arb(0)
        for group in self.groups:
            rest: Polynomial = {}
            for s, (copies, size) in enumerate(zip(group.samples, group.slack_scales, strict=not data.hard)):
                rest[(k + s,)] = data.cost(copies) * size / scale
            for square in group.squares:
                g, degree = self._constraint(square, group, data, cone)
                variables = k + len(group.slack_scales)
                F = matrix_of(square.factor)
                add(rest, product_with_squares(g, variables, degree, F * F.transpose()), -1)
            for key, value in rest.items():
                if all(variable < k for variable in key):
                    add(shared, {key: value})
                else:
                    private += abs(value)
        constant = shared.pop((), arb(0))
        return constant - private - sum((abs(value) for value in shared.values()), arb(0))

    def _cone(self) -> Polynomial:
        """``q(centre + basis v)``."""
        cone: Polynomial = {}
        for r, (constant, row) in enumerate(zip(self.centre.tolist(), self.basis.tolist(), strict=True)):
            add(cone, square_of_affine(arb(constant), [arb(v) for v in row]), -1 if r == 0 else 1)
        return cone

    def _constraint(self, square: Squares, group: Group, data: ExactData, cone: Polynomial) -> tuple[Polynomial, int]:
        """The polynomial of a constraint, and the degree of the squares it is multiplied with."""
        k, s = len(self.centre), square.sample
        if square.kind == "one":
            return {(): arb(1)}, self.order
        if square.kind == "cone":
            return cone, self.order - 1
        if square.kind == "ball":
            return {(): arb(1), **{(j, j): arb(-1) for j in range(k)}}, self.order - 1
        if square.kind == "margin":
            constant, slope = self._margin(data, group.samples[s][0])
            if data.unused(group.samples[s][0]):
                raise CertificateError("the certificate uses a sample of weight 0")
            g = affine(constant - 1, slope)
            return (g if data.hard else {**g, (k + s,): arb(2).sqrt() * group.slack_scales[s]}), self.order - 1
        if data.hard:
            raise CertificateError("the hard margin has no slacks")
        return {(k + s,): arb(1), **({(k + s, k + s): arb(-1)} if square.kind == "range" else {})}, self.order - 1

    # -- files ---------------------------------------------------------------------------------------------------------

    def _content(self) -> dict[str, Any]:
        return {
            "order": self.order,
            "level": self.level,
            "scale": self.scale,
            "centre": self.centre.tolist(),
            "basis": self.basis.tolist(),
            "frame": self.frame.tolist(),
            "extents": [[e.half, e.coordinate, e.sign, e.price, e.weights.tolist()] for e in self.extents],
            "groups": [
                {
                    "samples": [list(copies) for copies in group.samples],
                    "slack_scales": list(group.slack_scales),
                    "squares": [[square.kind, square.sample, square.factor.tolist()] for square in group.squares],
                }
                for group in self.groups
            ],
            "linear": list(self.linear),
        }

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> Self:
        return cls(
            order=int(data["order"]),
            level=float(data["level"]),
            scale=float(data["scale"]),
            centre=as_numbers(data["centre"], ndim=1),
            basis=as_numbers(data["basis"], ndim=2),
            frame=as_numbers(data["frame"], ndim=1),
            extents=tuple(
                Extent(int(half), int(coordinate), int(sign), float(price), as_numbers(weights, ndim=1))
                for half, coordinate, sign, price, weights in data["extents"]
            ),
            groups=tuple(
                Group(
                    tuple(tuple(int(i) for i in copies) for copies in group["samples"]),
                    tuple(float(size) for size in group["slack_scales"]),
                    tuple(
                        Squares(str(kind), int(sample), as_numbers(factor, ndim=2))
                        for kind, sample, factor in group["squares"]
                    ),
                )
                for group in data["groups"]
            ),
            linear=tuple(int(i) for i in data["linear"]),
        )


# -- 1: the ball -------------------------------------------------------------------------------------------------------


def check_ball(
    data: ExactData, level: float, centre: Array, basis: Array, frame: Array, extents: tuple[Extent, ...]
) -> None:
    """Raise a `CertificateError` where the extents do not show that the ball holds every w with ``f(w) < level``.

    The ball is ``centre + basis v``, ``|v| <= 1``; the extents are in the Lorentz frame of the point above `frame`.
    """
    k = len(centre)
    inverse, middle = matrix_of(basis).inv(), [arb(v) for v in centre.tolist()]
    reached: dict[tuple[int, int, int], arb] = {}
    for e in extents:
        row = [e.sign * inverse[e.coordinate, j] for j in range(k)]
        height = _height(data, level, frame, e, row) - dot(row, middle)
        key = (e.half, e.coordinate, e.sign)
        reached[key] = height if key not in reached else reached[key].min(height)
    square = arb(0)
    for j in range(k):
        largest = arb(0)
        for half in (-1, 1):
            if any(reached.get((half, i, 0), arb(0)) < 0 for i in range(k)):
                continue  # this half is empty
            for sign in (-1, 1):
                if (half, j, sign) not in reached:
                    raise CertificateError("a coordinate of the ball is not bounded")
                largest = largest.max(reached[half, j, sign])
        square += largest * largest
    if not square <= 1:
        raise CertificateError("the ball of the certificate is too small")


def _height(data: ExactData, stated: float, frame: Array, e: Extent, row: list[arb]) -> arb:
    """The bound on ``row.w`` that the weights prove."""
    level, price = arb(stated), arb(e.price)
    p, total = list(row), arb(0)
    for i in np.flatnonzero(e.weights).tolist():
        a = arb(float(e.weights[i]))
        if not (a > 0 and (data.hard or a <= price * data.costs[i] * half_root())):
            raise CertificateError("a weight of the ball is out of range")
        if data.unused(i):
            raise CertificateError("the certificate uses a sample of weight 0")
        p, total = [u + a * v for u, v in zip(p, data.rows[i], strict=True)], total + a
    time, space = _covector_in_frame([arb(c) for c in frame.tolist()], p)
    length = dot(space, space).nonnegative_part().sqrt()
    if not e.half * time + length <= 0:
        raise CertificateError("weights of the ball bound nothing")
    return length * (2 * level).sqrt() - total + (arb(0) if data.hard else price * level)


def _covector_in_frame(centre: list[arb], p: list[arb]) -> tuple[arb, list[arb]]:
    """``p.w`` as a function of the frame's (t, wr): the frame's w is moved out by the boost to the centre."""
    time = (1 + dot(centre, centre)).sqrt()
    along = dot(centre, p[1:])
    stretch = p[0] + along / (1 + time)
    return time * p[0] + along, [v + c * stretch for c, v in zip(centre, p[1:], strict=True)]


# -- polynomials -------------------------------------------------------------------------------------------------------


def add(target: Polynomial, other: Polynomial, factor: int = 1) -> None:
    """Add `factor` times a polynomial in place."""
    for key, value in other.items():
        target[key] = target[key] + factor * value if key in target else factor * value


def affine(constant: arb, slope: list[arb]) -> Polynomial:
    """``constant + slope.v`` in the first variables."""
    return {(): constant, **{(j,): value for j, value in enumerate(slope)}}


def square_of_affine(constant: arb, slope: list[arb]) -> Polynomial:
    """``(constant + slope.v)^2``."""
    square: Polynomial = {(): constant * constant}
    for j, value in enumerate(slope):
        square[(j,)] = 2 * constant * value
        for i in range(j):
            square[(i, j)] = 2 * slope[i] * value
        square[(j, j)] = value * value
    return square


def product_with_squares(g: Polynomial, variables: int, degree: int, gram: arb_mat) -> Polynomial:
    """``g(v) [v]' X [v]`` for the monomials [v] up to `degree` (see `monomials`) and a symmetric matrix X."""
    squares: Polynomial = {}
    for a, b, key in _products(variables, degree):
        value = gram[a, b] if a == b else 2 * gram[a, b]
        squares[key] = squares[key] + value if key in squares else value
    if list(g) == [()]:
        return {key: g[()] * value for key, value in squares.items()}
    product: Polynomial = {}
    for term, coefficient in g.items():
        for key, value in squares.items():
            whole = _times(key, term)
            product[whole] = product[whole] + coefficient * value if whole in product else coefficient * value
    return product


def monomials(variables: int, degree: int) -> Iterator[tuple[int, ...]]:
    """Monomials by degree and then lexicographically, each as the sorted tuple of its variables."""
    for k in range(degree + 1):
        yield from combinations_with_replacement(range(variables), k)


@lru_cache(maxsize=64)
def _products(variables: int, degree: int) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """Positions of every two monomials, and their product."""
    basis = list(monomials(variables, degree))
    return tuple((a, b, tuple(sorted(basis[a] + basis[b]))) for a in range(len(basis)) for b in range(a, len(basis)))


@lru_cache(maxsize=2**16)
def _times(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(left + right))
