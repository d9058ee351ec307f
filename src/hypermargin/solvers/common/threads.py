"""Threads of linear algebra: not for small matrices.

Threads of BLAS wait for each other by spinning. On a machine with other work one of them is always kept from its core,
and products of small matrices take many times as long as in one thread. Where nothing else runs two threads were two to
four times slower at d = 128, because a search works with the samples near the margin only, and a tenth faster at best
with 300,000 samples at d = 32. The rule looks at sizes alone, since rounding depends on the number of threads and
answers should not depend on what else a machine does.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

#: From this dimension on matrices are multiplied at all; solvers of fewer have compiled passes.
LEAST_DIM = 6
#: Multiplications for ``Z'DZ`` with all samples, ``n d^2``, up to which one thread does it.
MOST_PRODUCTS = 1 << 33


@cache
def blas() -> ThreadpoolController:
    """What limits the threads of linear algebra. To find its libraries takes longer than to solve a small problem."""
    return ThreadpoolController()


class _OneThread:
    """A limit that several users may share: the first sets it, and the last lifts it, in whichever order they leave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limit = blas().limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


ONE_THREAD = _OneThread()


@contextmanager
def threads_for(n_samples: int, dim: int) -> Iterator[None]:
    """Inside, linear algebra has one thread if the matrices of a problem of this size are small."""
    if dim >= LEAST_DIM and n_samples * dim**2 <= MOST_PRODUCTS:
        with ONE_THREAD:
            yield
    else:
        yield
