"""The cuts of a proof as sums over samples, and a registry of what makes them.

Samples may lie in memory, on a device or on a cluster, and sums are made where they are: `map_blocks` of the problem
calls a function for every block. `summed_by` registers functions for blocks of a type, which
return numbers with bounds on their errors; what follows from them is up to the core.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hypermargin.arithmetic import rounding_factor
from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import CertificateError
from hypermargin.certificates.core.proof import EnvelopeProof


class CutSums(NamedTuple):
    """The cuts of a certificate times sqrt2, in its frame: midpoints and error bounds, each of shape (cuts, d + 2).

    Row j holds ``sqrt2 b`` and then ``-sqrt2 g``: the sums of ``c_i`` and of ``c_i z_i`` over the samples of cut j; for
    explicit weights, of ``sqrt2 a_i`` capped at ``c_i``. `one_class`, shape (cuts,), marks the cuts whose samples are
    all of one class: their slopes are sums of vectors in one light cone.
    """

    totals: Array
    errors: Array
    one_class: NDArray[np.bool_]


#: Lower and upper bounds of ``sum_i c_i max(0, 1 - m_i)`` but for the rounding of the sums, and of the least margin.
RiskBounds = tuple[float, float, float]


_CutsOfBlock = Callable[[Any, EnvelopeProof, float], CutSums]
_SUMMERS: dict[type, tuple[_CutsOfBlock, Callable[..., RiskBounds]]] = {}


def summed_by(kind: type, cuts: _CutsOfBlock, risk: Callable[..., RiskBounds]) -> None:
    """Let `cuts` and `risk` sum blocks of this type, with the arguments of `cuts_of_block` and `risk_of_block`."""
    _SUMMERS[kind] = cuts, risk


def _summers(block: Any) -> tuple[_CutsOfBlock, Callable[..., RiskBounds]]:
    for kind in type(block).__mro__:
        if kind in _SUMMERS:
            return _SUMMERS[kind]
    raise CertificateError(f"nothing sums the samples of a {type(block).__name__}")


def cuts_of_block(block: Any, proof: EnvelopeProof, farthest: float) -> CutSums:
    """The sums over one block; no sample of the problem has an x0 above `farthest`."""
    return _summers(block)[0](block, proof, farthest)


def risk_of_block(
    block: Any, centre: Array, precise: bool, w: Array, low: Array | None, form: tuple[float, float]
) -> RiskBounds:
    """Bounds on the risk of one block at ``w + low``, whose q lies between the numbers `form`.

    They may be computed in the frame around `centre`, in doubles or (`precise`) in double-double arithmetic.
    """
    return _summers(block)[1](block, centre, precise, w, low, form)


def is_in_memory(problem: Any) -> bool:
    """Whether rows of the problem have a meaning: its samples are arrays in memory."""
    try:
        return isinstance(problem.X, np.ndarray)
    except (AttributeError, TypeError):
        return False


def cut_sums(proof: EnvelopeProof, problem: Any) -> CutSums:
    """The sums of all cuts over all blocks."""
    by_row = proof.duals is not None or any(not cut.named for cut in proof.shared)
    if by_row and not is_in_memory(problem):
        raise CertificateError(
            "a certificate that names samples by their rows can be checked on samples in memory only"
        )
    sums = together(problem.map_blocks(cuts_of_block, proof, problem.farthest))
    if not sums.totals.shape == sums.errors.shape == (proof.n_cuts, problem.dim + 2):
        raise CertificateError("the sums over the samples are not those of the cuts")
    return sums


def together(parts: Sequence[CutSums]) -> CutSums:
    """The sums over all blocks. Cuts are of one class if all blocks agree; those that take no sample have no say."""
    if len(parts) == 1:
        return parts[0]
    middles = np.stack([part.totals for part in parts])
    gamma = rounding_factor(len(parts) + 2)
    errors = sum((part.errors for part in parts), np.zeros_like(middles[0]))
    errors = (errors + gamma * np.abs(middles).sum(axis=0)) * (1.0 + 4.0 * gamma)
    empty = ~np.any(middles, axis=2) & np.stack([~np.any(part.errors, axis=1) for part in parts])
    alone = np.stack([part.one_class for part in parts]) | empty
    signs = np.where(empty, 0.0, np.sign(middles[:, :, 1]))
    agree = np.abs(signs.sum(axis=0)) == np.abs(signs).sum(axis=0)
    return CutSums(middles.sum(axis=0), errors, alone.all(axis=0) & agree)
