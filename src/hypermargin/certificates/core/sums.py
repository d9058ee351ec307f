"""The cuts of a proof as sums over samples, and who makes them.

Samples may lie in memory, on a device or on a cluster, and sums are made where they are: `map_blocks` of the problem
calls a function for every block. `summed_by` says what sums blocks of a type. It has to return numbers with bounds on
their errors; what follows from them is up to the core. Blocks that nothing was registered for are summed here from the
definition: slowly, in Arb, from their ``X``, ``y`` and ``costs``.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from hypermargin.arithmetic import dot, in_arb, middle_and_radius, rounding_factor
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


class _Summer(NamedTuple):
    cuts: Callable[[Any, EnvelopeProof, float], CutSums]
    risk: Callable[..., RiskBounds]


_SUMMERS: dict[type, _Summer] = {}


def summed_by(
    kind: type, cuts: Callable[[Any, EnvelopeProof, float], CutSums], risk: Callable[..., RiskBounds]
) -> None:
    """Let `cuts` and `risk` sum blocks of this type, with the arguments of `cuts_of_block` and `risk_of_block`."""
    _SUMMERS[kind] = _Summer(cuts, risk)


def _summer(block: Any) -> _Summer:
    return next((_SUMMERS[kind] for kind in type(block).__mro__ if kind in _SUMMERS), _Summer(plain_cuts, plain_risk))


def cuts_of_block(block: Any, proof: EnvelopeProof, farthest: float) -> CutSums:
    """The sums over one block; no sample of the problem has an x0 above `farthest`."""
    return _summer(block).cuts(block, proof, farthest)


def risk_of_block(
    block: Any, centre: Array, precise: bool, w: Array, low: Array | None, form: tuple[float, float]
) -> RiskBounds:
    """Bounds on the risk of one block at ``w + low``, whose q lies between the numbers `form`.

    They may be computed in the frame around `centre`, in doubles or (`precise`) in double-double arithmetic.
    """
    return _summer(block).risk(block, centre, precise, w, low, form)


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


# -- the definition --------------------------------------------------------------------------------------------------


def plain_cuts(block: Any, proof: EnvelopeProof, farthest: float = np.inf) -> CutSums:
    """The sums in Arb, from the definition of the cuts in `EnvelopeProof`."""
    if block.uncertainty is not None or any(cut.named for cut in proof.shared):
        raise CertificateError("the core alone knows neither uncertainty sets nor names of samples")
    with in_arb():
        rows = [_in_frame(z, proof.centre) for z in _covectors(block)]
        costs = [arb(cost) for cost in block.costs.tolist()]
        cuts = [_below_threshold(w, rows, costs, proof.threshold) for w in proof.points.tolist()]
        for dual in [] if proof.duals is None else proof.duals.tolist():
            weights = [arb(2).sqrt() * a for a in dual]
            cuts.append([a.max(arb(0)).min(cost) for a, cost in zip(weights, costs, strict=True)])
        for cut in proof.shared:
            weights = list(cuts[cut.point])
            for i, share in zip(cut.samples.tolist(), cut.shares.tolist(), strict=True):
                weights[i] = share * costs[i]
            cuts.append(weights)
        sums = [
            [sum(weights, arb(0)), *(dot(weights, column) for column in zip(*rows, strict=True))] for weights in cuts
        ]
        balls = np.array([[middle_and_radius(value) for value in row] for row in sums]).reshape(len(cuts), -1, 2)
        middles, radii = np.ascontiguousarray(np.moveaxis(balls, 2, 0))
    one_class = [len({y for y, a in zip(block.y.tolist(), weights, strict=True) if a != 0}) <= 1 for weights in cuts]
    return CutSums(middles, radii, np.array(one_class, dtype=bool))


def plain_risk(
    block: Any, centre: Array, precise: bool, w: Array, low: Array | None, form: tuple[float, float]
) -> RiskBounds:
    """The risk in Arb, which needs no frame."""
    if block.uncertainty is not None:
        raise CertificateError("the core alone knows no uncertainty sets")
    with in_arb():
        normal = [arb(a) + (0.0 if low is None else b) for a, b in zip(w.tolist(), _or_zeros(low, w), strict=True)]
        margins = [dot(z, normal) for z in _covectors(block)]
        costs = [1.0 if block.is_hard and cost > 0.0 else cost for cost in block.costs.tolist()]
        risk = dot([(1 - m).max(arb(0)) for m in margins], costs)
        least = min((float(m.lower()) for m, cost in zip(margins, costs, strict=True) if cost > 0.0), default=np.inf)
        return float(risk.lower()), float(risk.upper()), float(np.nextafter(least, -np.inf))


def _or_zeros(low: Array | None, w: Array) -> list[float]:
    return [0.0] * w.size if low is None else low.tolist()


def _covectors(block: Any) -> list[list[arb]]:
    """``z_i = y_i (sqrt(1 + |xr|^2), -xr)`` for the doubles xr of the samples."""
    rows = []
    for label, row in zip(block.y.tolist(), block.X[:, 1:].tolist(), strict=True):
        space = [arb(value) for value in row]
        rows.append([label * (1 + dot(space, space)).sqrt(), *(-label * value for value in space)])
    return rows


def _in_frame(z: list[arb], centre: Array) -> list[arb]:
    """The covector after the boost that takes ``(T, c)`` to the origin."""
    space = [arb(value) for value in centre.tolist()]
    time = (1 + dot(space, space)).sqrt()
    along = dot(space, z[1:])
    return [time * z[0] + along, *(v + c * (along / (1 + time) + z[0]) for v, c in zip(z[1:], space, strict=True))]


def _below_threshold(w: list[float], rows: list[list[arb]], costs: list[arb], threshold: float) -> list[arb]:
    """The costs of the samples whose margin is below the threshold, and 0 for others; any choice is valid."""
    return [cost if float(dot(row, w).mid()) < threshold else arb(0) for row, cost in zip(rows, costs, strict=True)]
