"""Bounds on rounding errors of long sums.

For a sum of n terms in any order, with or without fused operations, the error of the computed value is at most
``gamma_n sum |terms|`` with ``gamma_n = n u / (1 - n u)`` and u = 2^-53 (Higham, Accuracy and Stability of Numerical
Algorithms, section 4.2).
"""

UNIT_ROUNDOFF = 2.0**-53


def rounding_factor(n):
    """``gamma_n``, rounded up; n may be an array."""
    return 1.0001 * n * UNIT_ROUNDOFF / (1.0 - n * UNIT_ROUNDOFF)
