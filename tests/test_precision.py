"""Computations in several threads have the digits of Arb that each asked for, and leave those of the user."""

from concurrent.futures import ThreadPoolExecutor
from time import sleep

from flint import ctx

from hypermargin.arithmetic import ARB_BITS, in_arb
from hypermargin.precision import digits


def test_threads_do_not_change_the_digits_of_each_other():
    before = ctx.prec

    def run(k):
        own, found = (ARB_BITS, []) if k % 2 else (100 + k, [])
        with in_arb() if k % 2 else digits(own):
            for _ in range(5):
                with digits(77):
                    sleep(0.001)
                    found.append(ctx.prec == 77)
                found.append(ctx.prec == own)
        return all(found)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(16)))
    assert ctx.prec == before
