"""Proofs that nothing separates the classes: if ``sum a_k z_k = 0``, a_k > 0, no w has all ``z_k.w >= 1`` (Farkas)."""

from typing import Any

from flint import arb, arb_mat, fmpq, fmpq_mat

from .exact import Problem, Refused, Vector, decided, dot, entry, matrix, numbers, sequence, whole
from .sets import Set


def check_overlap(data: dict[str, Any], problem: Problem) -> float:
    """Infinity if the named samples overlap. Doubles are rational, so relations of the space parts are found
    exactly."""
    used = _samples(data, problem)
    if not has_positive_relation([problem.space[i] for i in used], [problem.y[i] for i in used]):
        raise Refused("the samples of the certificate do not prove that the classes overlap")
    return float("inf")


def has_positive_relation(space: list[list[float]], signs: list[int]) -> bool:
    """Whether some ``a_k > 0`` have ``sum a_k z_k = 0``; of the relations of ``y_k xr_k`` there must be one or two."""
    rows = [[fmpq(*(y * v).as_integer_ratio()) for v in row] for row, y in zip(space, signs, strict=True)]
    relations = _null_space([list(column) for column in zip(*rows, strict=True)])
    squares = [sum((fmpq(*v.as_integer_ratio()) ** 2 for v in row), fmpq(1)) for row in space]
    if len(relations) == 1:
        return _one_sign(relations[0]) and _roots_cancel(relations[0], signs, squares)
    # Where there are more relations fewer samples prove as much.
    return len(relations) == 2 and decided(lambda: _positive_mixture(relations, signs, squares)) is True


def check_robust_overlap(data: dict[str, Any], problem: Problem) -> float:
    """Infinity if the worst points of the named samples at the given normals have a positive relation."""
    used, d = _samples(data, problem), problem.d
    if problem.noise is None or len(used) != d + 2:
        raise Refused("the certificate is about d + 2 points of uncertainty sets")
    normals = matrix(entry(data, "normals"), d + 2, d + 1)
    centre = [0.0] * d if data.get("centre") is None else numbers(data["centre"], d)

    def positive() -> bool | None:
        rows = [Set(problem, i, centre).member(w) for i, w in zip(used, normals, strict=True)]
        try:
            columns = arb_mat([[row[k] for row in rows[:-1]] for k in range(d + 1)])
            a = columns.solve(arb_mat([[-v] for v in rows[-1]])).entries()
        except ZeroDivisionError:
            return None
        return True if all(v > 0 for v in a) else False if any(v < 0 for v in a) else None

    if decided(positive) is not True:
        raise Refused("the members of the certificate do not prove that the sets overlap")
    return float("inf")


def _samples(data: dict[str, Any], problem: Problem) -> list[int]:
    used = [whole(i, 0, problem.n - 1) for i in sequence(entry(data, "samples"))]
    if not problem.hard or not used or any(problem.weight_of(i) == 0.0 for i in used):
        raise Refused("the certificate needs a hard margin, and samples whose weight is not 0")
    return used


def _null_space(rows: list[list[fmpq]]) -> list[list[fmpq]]:
    """A basis of the solutions of ``rows a = 0``."""
    reduced, rank = fmpq_mat(rows).rref()
    width = len(rows[0])
    pivots = [next(k for k in range(width) if reduced[r, k] != 0) for r in range(rank)]
    basis = []
    for free in (k for k in range(width) if k not in pivots):
        vector = [fmpq(int(k == free)) for k in range(width)]
        for r, pivot in enumerate(pivots):
            vector[pivot] = -reduced[r, free]
        basis.append(vector)
    return basis


def _one_sign(values: list[fmpq]) -> bool:
    return all(v > 0 for v in values) or all(v < 0 for v in values)


def _roots_cancel(relation: list[fmpq], signs: list[int], squares: list[fmpq]) -> bool:
    """Whether ``sum a_k y_k sqrt(s_k) = 0`` since the coefficients of each root that occurs have the sum 0."""
    totals: dict[str, fmpq] = {}
    for a, y, square in zip(relation, signs, squares, strict=True):
        totals[str(square)] = totals.get(str(square), fmpq(0)) + a * y
    return all(v == 0 for v in totals.values())


def _positive_mixture(relations: list[list[fmpq]], signs: list[int], squares: list[fmpq]) -> bool | None:
    """Whether the mixture of two relations for which the time coordinates cancel has one sign; None: too few digits."""
    times: Vector = [y * arb(square).sqrt() for y, square in zip(signs, squares, strict=True)]
    first, second = ([arb(a) for a in relation] for relation in relations)
    p, q = dot(first, times), dot(second, times)
    mixed = [q * u - p * v for u, v in zip(first, second, strict=True)]
    if all(v > 0 for v in mixed) or all(v < 0 for v in mixed):
        return True
    return False if any(v > 0 for v in mixed) and any(v < 0 for v in mixed) else None
