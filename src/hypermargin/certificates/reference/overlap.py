"""Proofs that nothing separates the classes: if ``sum a_k z_k = 0``, a_k > 0, no w has all ``z_k.w >= 1`` (Farkas)."""

import math
from collections import defaultdict
from typing import Any

from flint import arb, arb_mat, fmpq, fmpz_mat

from .exact import MOST, Problem, Vector, at_enough_digits, dot, plus
from .fields import Refused, array, entry, real, whole
from .sets import Set


def check_overlap(data: dict[str, Any], problem: Problem) -> float:
    """Infinity if the named samples overlap."""
    used = _samples(data, problem)
    if not has_positive_relation([problem.space[i] for i in used], [problem.y[i] for i in used]):
        raise Refused("the samples of the certificate do not prove that the classes overlap")
    return math.inf


def has_positive_relation(space: list[list[float]], signs: list[int]) -> bool:
    """Whether some ``a_k > 0`` have ``sum a_k z_k = 0``; of the relations of ``y_k xr_k`` there must be one or two.

    Doubles are rational, so these are found exactly. Where there are more relations fewer samples prove as much.
    """
    rows = [[fmpq(*(y * v).as_integer_ratio()) for v in row] for row, y in zip(space, signs, strict=True)]
    scale = max(v.q for row in rows for v in row)  # a power of two, as all denominators are
    basis, rank = fmpz_mat([[(v * scale).p for v in column] for column in zip(*rows, strict=True)]).nullspace()
    relations = [list(map(int, relation)) for relation in basis.transpose().tolist()[:rank]]
    squares = [sum((v * v for v in row), fmpq(1)) for row in rows]
    if len(relations) == 1:  # the time coordinates cancel if the coefficients of each root that occurs do
        totals: dict[fmpq, int] = defaultdict(int)
        for a, y, square in zip(*relations, signs, squares, strict=True):
            totals[square] += a * y
        return not any(totals.values()) and _one_sign([arb(a) for a in relations[0]])

    def mixed() -> arb:
        """Infinite if the mixture of the relations for which the time coordinates cancel has one sign."""
        times = [y * arb(square).sqrt() for y, square in zip(signs, squares, strict=True)]
        first, second = ([arb(a) for a in relation] for relation in relations)
        mixture = plus([dot(second, times) * a for a in first], second, -dot(first, times))
        return arb("inf" if _one_sign(mixture) else "-inf")

    return len(relations) == 2 and at_enough_digits(mixed, MOST) == math.inf


def check_robust_overlap(data: dict[str, Any], problem: Problem) -> float:
    """Infinity if the worst points of the named samples at the given normals have a positive relation."""
    used, d = _samples(data, problem), problem.d
    if problem.noise is None or len(used) != d + 2:
        raise Refused("the certificate is about d + 2 points of uncertainty sets")
    normals = entry(data, "normals", array(array(real(), d + 1), d + 2))
    centre = array(real(), d)(data.get("centre") or [0.0] * d)

    def related() -> arb:
        rows = [Set(problem, i, centre, None).member(list(map(arb, w))) for i, w in zip(used, normals, strict=True)]
        try:
            last = arb_mat([[-v] for v in rows[-1]])
            a = arb_mat(rows[:-1]).transpose().solve(last).entries()
        except ZeroDivisionError:
            return arb("-inf")
        return arb("inf" if all(v > 0 for v in a) else "-inf")

    if at_enough_digits(related, MOST) != math.inf:
        raise Refused("the members of the certificate do not prove that the sets overlap")
    return math.inf


def _samples(data: dict[str, Any], problem: Problem) -> list[int]:
    used = entry(data, "samples", array(whole(0, problem.n - 1)))
    if not problem.hard or not used or any(problem.weights[i] == 0.0 for i in used):
        raise Refused("the certificate needs a hard margin, and samples whose weight is not 0")
    return used


def _one_sign(values: Vector) -> bool:
    return all(v > 0 for v in values) or all(v < 0 for v in values)
