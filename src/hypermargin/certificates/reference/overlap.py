"""Proofs that nothing separates the classes: if ``sum a_k z_k = 0``, a_k > 0, no w has all ``z_k.w >= 1`` (Farkas)."""

from collections import defaultdict
from math import inf
from typing import Any

from flint import arb, arb_mat, fmpq, fmpz_mat

from .exact import Problem, Refused, at_enough_digits, dot, plus, rational, read, real
from .sets import Set


def check_overlap(data: Any, problem: Problem) -> float:
    """Infinity if the named samples overlap."""
    used = _samples(data, problem)
    if not has_positive_relation([problem.space[i] for i in used], [problem.y[i] for i in used]):
        raise Refused("the samples of the certificate do not prove that the classes overlap")
    return inf


def has_positive_relation(space: list[list[float]], signs: list[int]) -> bool:
    """Whether some ``a_k > 0`` have ``sum a_k z_k = 0``; of the relations of ``y_k xr_k`` there must be one or two.

    Doubles are rational, so these are found exactly. Where there are more relations fewer samples prove as much.
    """
    rows = [[y * rational(v) for v in row] for row, y in zip(space, signs, strict=True)]
    scale = max(v.q for row in rows for v in row)  # a power of two, as all denominators are
    basis, rank = fmpz_mat([[(v * scale).p for v in column] for column in zip(*rows, strict=True)]).nullspace()
    relations = [list(map(int, relation)) for relation in basis.transpose().tolist()[:rank]]
    squares = [sum((v * v for v in row), fmpq(1)) for row in rows]
    if rank == 1:  # the time coordinates cancel if the coefficients of each root that occurs do
        totals: dict[fmpq, int] = defaultdict(int)
        for a, y, square in zip(*relations, signs, squares, strict=True):
            totals[square] += a * y
        return not any(totals.values()) and _one_sign(relations[0])

    def mixed() -> arb:
        """Infinite if the mixture of the relations for which the time coordinates cancel has one sign."""
        first, second = ([arb(a) for a in relation] for relation in relations)
        times = [y * arb(square).sqrt() for y, square in zip(signs, squares, strict=True)]
        mixture = plus([dot(second, times) * a for a in first], second, -dot(first, times))
        return arb("inf" if _one_sign(mixture) else "-inf")

    return rank == 2 and at_enough_digits(mixed) == inf


def check_robust_overlap(data: Any, problem: Problem) -> float:
    """Infinity if the worst points of the named samples at the given normals have a positive relation."""
    used, d = _samples(data, problem), problem.d
    has = read(data, {"normals": [[real(), d + 1], d + 2], "centre?": [real(), d]})
    if problem.noise is None or len(used) != d + 2:
        raise Refused("the certificate is about d + 2 points of uncertainty sets")

    def related() -> arb:
        sets = [Set(problem, i, has.centre or [0.0] * d) for i in used]
        *rows, last = [own.member([arb(v) for v in w]) for own, w in zip(sets, has.normals, strict=True)]
        a = arb_mat(rows).transpose().solve(arb_mat([[-v] for v in last])).entries()
        return arb("inf" if all(v > 0 for v in a) else "-inf")

    if at_enough_digits(related) != inf:
        raise Refused("the members of the certificate do not prove that the sets overlap")
    return inf


def _samples(data: Any, problem: Problem) -> list[int]:
    used = read(data, {"samples": [problem.row]}).samples
    if not problem.hard or not used or any(problem.weights[i] == 0.0 for i in used):
        raise Refused("the certificate needs a hard margin, and samples whose weight is not 0")
    return used


def _one_sign(values: list[Any]) -> bool:
    return all(v > 0 for v in values) or all(v < 0 for v in values)
