"""From a margin problem to its relaxation: the constraints of the paper in the coordinates of a frame."""

from collections.abc import Sequence
from math import comb

import numpy as np

from hypermargin.arrays import Array
from hypermargin.problems.losses import SQRT2
from hypermargin.solvers.paper.frames import Frame
from hypermargin.solvers.paper.moment.relaxation import (
    Polynomials,
    Relaxation,
    RelaxationBuilder,
    affine,
    quadratic,
)
from hypermargin.solvers.paper.worst_margins import WorstMargins

#: ``sinh(asinh(1) - xi)`` by its Taylor series; the coefficients of xi, xi^2, xi^3 with the sign they have in g >= 0.
TAYLOR = (SQRT2, -0.5, SQRT2 / 6.0)


def check_size(n_groups: int, n_variables: int, order: int, max_block: int) -> None:
    """Refuse relaxations whose matrices are larger than the caller allows, with an error that gives their size."""
    block, moments = comb(n_variables + order, order), comb(n_variables + 2 * order, 2 * order)
    if block > max_block:
        raise ValueError(
            f"order {order} with {n_variables} variables per group needs moment matrices of {block} x {block} and "
            f"{moments:,} moments in each of {n_groups:,} groups (about {8e-9 * n_groups * moments**2:.2g} GB); "
            f"set max_block={block} to allow it, or lower the order"
        )


def build_relaxation(
    Z: Array,
    costs: Array,
    frame: Frame,
    *,
    order: int,
    taylor: int,
    sparse: bool,
    bounded: bool,
    linear: tuple[float, Array] | None = None,
    robust: WorstMargins | None = None,
    near: Sequence[Array] = (),
) -> Relaxation:
    """The relaxation for samples with covectors Z (n, d + 1) and costs (n,), infinite ones for the hard margin.

    `linear` is ``(b, g)`` of a term ``b + g.w`` of the objective: the risk of samples that need no slack of their own.
    `robust` has worst-case margins of the same samples. They keep the groups: polyhedral sets have one margin
    constraint per corner. For round sets ``margin >= reach |D w|`` becomes a quadratic constraint, the difference of
    the squares of both sides (hinge only). Margin constraints at some of their points, among them those with covectors
    `near`, tighten it.
    """
    n, k = Z.shape
    hard = bool(np.all(np.isinf(costs)))
    slacks = 0 if hard else (1 if sparse else n)
    n_groups = n if slacks and sparse else 1
    n_variables = k + slacks
    builder = RelaxationBuilder(n_variables, n_groups, order, shared_variables=k if n_groups > 1 else 0)
    first = np.zeros(1, dtype=np.int64)

    cone = _cone(frame, n_variables)
    if bounded:  # in every group: tighter, and no sample is special because it came first
        builder.constrain("cone", Polynomials(cone.exponents, np.repeat(cone.coefficients, n_groups, axis=0)))
    else:  # in the first group, as in the paper
        builder.constrain("cone", cone, groups=first)
    builder.minimise(Polynomials(cone.exponents, 0.5 * cone.coefficients / frame.objective_scale), groups=first)
    if linear is not None:
        offset, slope = linear
        term = affine(
            np.array([offset + slope @ frame.centre]), (slope @ frame.basis)[None, :], list(range(k)), n_variables
        )
        builder.minimise(Polynomials(term.exponents, term.coefficients / frame.objective_scale), groups=first)

    corners = [Z] if robust is None else list(robust.corners(near))
    is_round = robust is not None and robust.norm == "l2"
    if hard:
        for Z_corner in corners:
            margins, directions = Z_corner @ frame.centre - 1.0, Z_corner @ frame.basis
            builder.constrain(
                "margin", affine(margins, directions, list(range(k)), n_variables), np.zeros(n, dtype=np.int64)
            )
        if robust is not None and is_round:
            spread = _spread(robust, slice(None), None, frame, k, n_variables)
            builder.constrain("spread", spread, np.zeros(n, dtype=np.int64))
    for j in range(slacks):
        rows = slice(None) if sparse else slice(j, j + 1)
        scale = frame.slack_scale[rows, None]
        slack = affine(np.zeros(len(scale)), np.ones_like(scale), [k + j], n_variables)
        builder.constrain("slack", slack)
        for Z_corner in corners:
            margins, directions = Z_corner[rows] @ frame.centre - 1.0, Z_corner[rows] @ frame.basis
            builder.constrain("margin", _margin(margins, directions, scale, k + j, n_variables, taylor))
        if robust is not None and is_round:
            builder.constrain("spread", _spread(robust, rows, scale, frame, k + j, n_variables))
        cost = costs[rows, None] * scale / frame.objective_scale
        builder.minimise(Polynomials(slack.exponents, slack.coefficients * cost))
        if bounded:
            builder.constrain("slack range", _slack_range(len(scale), k + j, n_variables))
    if bounded:
        ball = quadratic(1.0, np.zeros(k), -np.eye(k), n_variables)
        builder.constrain("ball", Polynomials(ball.exponents, np.repeat(ball.coefficients, n_groups, axis=0)))
    return builder.build()


def _cone(frame: Frame, n_variables: int) -> Polynomials:
    """``q(centre + basis v)``."""
    signs = np.ones(len(frame.centre))
    signs[0] = -1.0
    lowered = frame.basis.T * signs  # basis' G
    constant = float(frame.centre @ (signs * frame.centre))
    return quadratic(constant, 2.0 * lowered @ frame.centre, lowered @ frame.basis, n_variables)


def _margin(
    constant: Array, directions: Array, scale: Array, variable: int, n_variables: int, taylor: int
) -> Polynomials:
    """``m_i(w) - 1 + sqrt2 xi - xi^2/2 + sqrt2 xi^3/6``, the powers of xi up to `taylor`."""
    k = directions.shape[1]
    plain = affine(constant, directions, list(range(k)), n_variables)
    powers = np.zeros((taylor, n_variables), dtype=np.int64)
    powers[:, variable] = np.arange(1, taylor + 1)
    terms = np.array(TAYLOR[:taylor]) * scale ** np.arange(1, taylor + 1)
    return Polynomials(
        np.concatenate((plain.exponents, powers)),
        np.concatenate((plain.coefficients, terms), axis=1),
    )


def _spread(
    robust: WorstMargins,
    rows: slice,
    scale: Array | None,
    frame: Frame,
    variable: int,
    n_variables: int,
) -> Polynomials:
    """``(m_i(w) - 1 + sqrt2 xi)^2 - reach_i^2 |D_i w|^2`` of the samples `rows`; without xi for the hard margin."""
    Z = robust.samples.Z[rows]
    n, k = Z.shape
    # Both are squares of affine functions of (v, xi); row 0 of `linear` is the margin, the others are reach_i D_i w.
    parts = robust.reach[rows, None, None] * robust.parts[rows]
    constant = np.concatenate(((Z @ frame.centre - 1.0)[:, None], parts @ frame.centre), axis=1)
    linear = np.zeros((n, constant.shape[1], n_variables))
    linear[:, 0, :k], linear[:, 1:, :k] = Z @ frame.basis, parts @ frame.basis
    if scale is not None:
        linear[:, 0, variable] = SQRT2 * scale[:, 0]
    sign = np.concatenate(([1.0], -np.ones(parts.shape[1])))
    forms = [
        quadratic(
            float(sign @ constant[i] ** 2),
            2.0 * (sign * constant[i]) @ linear[i],
            (linear[i].T * sign) @ linear[i],
            n_variables,
        )
        for i in range(n)
    ]
    return Polynomials(forms[0].exponents, np.concatenate([form.coefficients for form in forms]))


def _slack_range(n_groups: int, variable: int, n_variables: int) -> Polynomials:
    """``eta (1 - eta)``: the slack lies between 0 and the largest value it can have in the ball."""
    exponents = np.zeros((2, n_variables), dtype=np.int64)
    exponents[:, variable] = (1, 2)
    return Polynomials(exponents, np.repeat([[1.0, -1.0]], n_groups, axis=0))
