"""Polynomials with enclosed coefficients: a dict from monomials, sorted tuples of variables, to balls of Arb."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations_with_replacement

from flint import arb, arb_mat

Polynomial = dict[tuple[int, ...], arb]


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
