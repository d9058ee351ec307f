"""The digits of Arb, which are one setting for the whole process: computations in several threads take turns.

Needs nothing but python-flint, so that the reference checker can take it along to another machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from flint import ctx

_TURNS = RLock()


@contextmanager
def digits(bits: int) -> Iterator[None]:
    """Arb with so many bits, whatever other threads use; afterwards with as many as before."""
    with _TURNS, ctx.workprec(bits):
        yield
