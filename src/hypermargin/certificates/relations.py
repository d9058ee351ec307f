"""Whether samples have a positive linear relation, decided without rounding although their time coordinates are roots.

The points meant are ``(sqrt(1 + |xr|^2), xr)`` for doubles xr. Relations of the space parts are those of rational
numbers; the one condition with roots is an inequality between sums, which ball arithmetic settles, or an equality that
holds because equal roots cancel.
"""

from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz_mat

#: Bits for the sums of roots: twice the radii that doubles hold cancel in them, and much is left.
PRECISION = 1024


def has_positive_relation(space: list[list[float]], labels: list[int]) -> bool:
    """Whether some ``a_i > 0`` have ``sum a_i z_i = 0``, ``z_i = y_i (sqrt(1 + |xr_i|^2), -xr_i)``.

    Of the relations between the ``y_i xr_i`` there must be one or two; where there are more, fewer samples prove as
    much, and the answer is False.
    """
    relations = _rational_relations([[y * value for value in row] for row, y in zip(space, labels, strict=True)])
    squares = [1 + sum((Fraction(value) ** 2 for value in row), Fraction(0)) for row in space]
    if len(relations) == 1:
        return _of_one_sign(relations[0]) and _roots_cancel(relations[0], labels, squares)
    if len(relations) != 2:
        return False
    with ctx.workprec(PRECISION):
        roots = [arb(fmpq(value.numerator, value.denominator)).sqrt() for value in squares]
        first, second = (
            sum((a * y * root for a, y, root in zip(relation, labels, roots, strict=True)), arb(0))
            for relation in relations
        )
        combined = [second * a - first * b for a, b in zip(*relations, strict=True)]
        return all(bool(value > 0) for value in combined) or all(bool(value < 0) for value in combined)


def _rational_relations(rows: list[list[float]]) -> list[list[int]]:
    """A basis of the integer vectors a with ``sum a_i row_i = 0``. Doubles are rational."""
    ratios = [[float(value).as_integer_ratio() for value in row] for row in rows]
    common = max(denominator for row in ratios for _, denominator in row)  # all are powers of two
    integers = [[numerator * (common // denominator) for numerator, denominator in row] for row in ratios]
    basis, nullity = fmpz_mat([list(column) for column in zip(*integers, strict=True)]).nullspace()
    return [[int(basis[i, k]) for i in range(len(rows))] for k in range(nullity)]


def _of_one_sign(relation: list[int]) -> bool:
    return all(value > 0 for value in relation) or all(value < 0 for value in relation)


def _roots_cancel(relation: list[int], labels: list[int], squares: list[Fraction]) -> bool:
    """Whether ``sum a_i y_i sqrt(s_i) = 0`` because the coefficients of every root that occurs sum to 0."""
    totals: dict[Fraction, int] = {}
    for a, y, square in zip(relation, labels, squares, strict=True):
        totals[square] = totals.get(square, 0) + a * y
    return not any(totals.values())
