"""The compiled part of the exact method: a small quadratic programme over cuts, and the search along t."""

import cython


def compiled() -> bool:
    """Whether this file runs as machine code (True) or is interpreted (False)."""
    return cython.compiled
