"""The sums of the core over blocks in memory and on devices, in floating point with proven bounds on their errors.

`compiled.sums` makes those over blocks in memory, in one pass, `device` those on devices, and `robust` those of
problems with uncertainty sets.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hypermargin.arithmetic import UNIT_ROUNDOFF, rounding_factor
from hypermargin.arrays import Array
from hypermargin.certificates import device
from hypermargin.certificates.compiled import sums
from hypermargin.certificates.core.proof import EnvelopeProof, SharedCut
from hypermargin.certificates.core.sums import CutSums, RiskBounds, summed_by, together
from hypermargin.certificates.fingerprints import sample_names
from hypermargin.certificates.frame import FramedSamples
from hypermargin.certificates.robust import robust_cut_sums, worst_margin_bounds
from hypermargin.data.device import DeviceSamples, on_host
from hypermargin.geometry.exact_normals import normal_to_frame
from hypermargin.problems.margin import MarginProblem

#: Samples whose terms are made at once: a column takes 64 kB, so that a few of them fit into the cache.
BLOCK = 8192


def device_cuts(piece: DeviceSamples, proof: EnvelopeProof, farthest: float) -> CutSums:
    """`core.sums.cuts_of_block` on a device; explicit weights are for samples in memory."""
    if proof.precise or piece.uncertainty is not None:  # there is no device code for these
        return together([host_cuts(problem, proof, farthest) for problem in on_host(piece)])
    at_points = device.sums_at_points(piece, proof, farthest)
    if not proof.shared:
        return at_points
    # Samples that have a share in some cut are looked at on the host, the others have theirs by the points.
    rest, named = device.without_named(piece, np.concatenate([cut.samples for cut in proof.shared]))
    parts = [device.sums_at_points(rest, replace(proof, points=_points_of_shared(proof)), farthest)]
    if named.n_samples:
        samples = FramedSamples(named, proof.centre)
        parts.append(_shared_sums(_by_row(proof, samples), samples))
    return _one_after_the_other([at_points, together(parts)])


def host_cuts(problem: MarginProblem, proof: EnvelopeProof, farthest: float) -> CutSums:
    """`core.sums.cuts_of_block` in memory; explicit weights are for the nominal points, which belong to every set."""
    samples = FramedSamples(problem, proof.centre, proof.precise)
    if problem.uncertainty is not None:
        at_points = robust_cut_sums(proof, problem)
    else:
        at_points = CutSums(*sums.cut_sums(samples, _contiguous(proof.points), proof.threshold))
    parts = [at_points]
    if proof.duals is not None:
        parts.append(_explicit_sums(proof.duals, samples))
    if proof.shared:
        parts.append(_shared_sums(_by_row(proof, samples), samples))
    return _one_after_the_other(parts) if len(parts) > 1 else at_points


def _one_after_the_other(parts: Sequence[CutSums]) -> CutSums:
    """The sums of further cuts after those of the first."""
    return CutSums(*map(np.concatenate, zip(*parts, strict=True)))


def _explicit_sums(duals: Array, samples: FramedSamples) -> CutSums:
    """The cuts whose weights are given outright."""
    problem = samples.problem
    totals = np.zeros((duals.shape[0], problem.dim + 2))
    errors = np.zeros_like(totals)
    classes = np.zeros((duals.shape[0], 2))
    for start in range(0, problem.n_samples, BLOCK):
        rows = slice(start, start + BLOCK)
        terms, reaches = _terms(samples, rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.clip(np.nan_to_num(duals[:, rows] * np.sqrt(2.0) / problem.costs[rows]), 0.0, 1.0)
        classes += np.stack([(shares > 0.0) @ (problem.y[rows] == label) for label in (-1.0, 1.0)], axis=1)
        gamma = rounding_factor(np.count_nonzero(shares, axis=1) + 2)[:, None]
        slack = (gamma + samples.roundings + UNIT_ROUNDOFF) * (shares @ np.abs(terms))
        slack[:, 1:] += (shares @ reaches)[:, None]
        _accumulate(totals, errors, shares @ terms, slack)
    return CutSums(totals, device.rounded_up(errors, problem.n_samples), classes.min(axis=1) == 0.0)


def _by_row(proof: EnvelopeProof, samples: FramedSamples) -> EnvelopeProof:
    """The proof with named samples as rows of these."""
    named = [cut.samples for cut in proof.shared if cut.named]
    if not named:
        return proof
    names = sample_names(samples.problem)
    rows = np.flatnonzero(_places(names, np.unique(np.concatenate(named))) >= 0)

    def found(cut: SharedCut) -> SharedCut:
        places = _places(names[rows], cut.samples)
        return SharedCut(cut.point, rows[places >= 0], cut.shares[places[places >= 0]])

    return replace(proof, shared=tuple(found(cut) if cut.named else cut for cut in proof.shared))


def _places(names: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where names are among those known, which ascend; -1 for those that are not."""
    if not known.size:
        return np.full(names.size, -1)
    places = np.minimum(np.searchsorted(known, names), known.size - 1)
    return np.where(known[places] == names, places, -1)


def _points_of_shared(proof: EnvelopeProof) -> Array:
    return proof.points[[cut.point for cut in proof.shared]]


def _shared_sums(proof: EnvelopeProof, samples: FramedSamples) -> CutSums:
    """The cuts at points of which some samples take a share: those without the samples, and what these contribute."""
    apart = np.concatenate([cut.samples for cut in proof.shared]).astype(np.intp)
    starts = np.cumsum([0, *(cut.samples.size for cut in proof.shared)], dtype=np.intp)
    totals, errors, _ = sums.cut_sums(
        samples, _contiguous(_points_of_shared(proof)), proof.threshold, apart=apart, starts=starts
    )
    for row, cut in enumerate(proof.shared):
        terms, reaches = _terms(samples, cut.samples)
        gamma = rounding_factor(cut.shares.size + 3)
        slack = (gamma + samples.roundings + UNIT_ROUNDOFF) * (cut.shares @ np.abs(terms))
        slack[1:] += cut.shares @ reaches
        _accumulate(totals[row], errors[row], cut.shares @ terms, slack)
    alone = np.zeros(len(proof.shared), dtype=bool)
    return CutSums(totals, device.rounded_up(errors, samples.problem.n_samples), alone)


def _contiguous(points: Array) -> Array:
    return np.ascontiguousarray(points, dtype=np.float64)


def _terms(samples: FramedSamples, rows: slice | NDArray[np.intp]) -> tuple[Array, Array]:
    """``c_i (1, z_i)`` for some samples, (rows, d + 2), and the part of their errors that goes with x0, (rows,)."""
    Z, costs = samples.covectors(rows), samples.problem.costs[rows]
    terms = costs[:, None] * np.hstack([np.ones((len(Z), 1)), Z])
    return terms, costs * (samples.reach_factor * samples.reaches[rows])


def _accumulate(totals: Array, errors: Array, sums: Array, slack: Array) -> None:
    """Add the sums of a block in place; the addition itself is rounded once."""
    totals += sums
    errors += slack + UNIT_ROUNDOFF * np.abs(totals)


# -- the risk of an answer ---------------------------------------------------------------------------------------------


def host_risk(
    problem: MarginProblem, centre: Array, precise: bool, w: Array, low: Array | None, form: tuple[float, float]
) -> RiskBounds:
    """`core.sums.risk_of_block` in memory."""
    moved, errors = normal_to_frame(w, low, centre)
    samples = FramedSamples(problem, centre, precise)
    costs = (problem.costs > 0.0).astype(np.float64) if problem.is_hard else problem.costs
    if problem.uncertainty is not None:
        least, most = worst_margin_bounds(samples, moved, errors, *form)
        used = costs > 0.0
        lower, upper = (float(costs[used] @ np.maximum(0.0, 1.0 - margins[used])) for margins in (most, least))
        return lower, upper if not np.isnan(upper) else np.inf, float(np.min(least[used], initial=np.inf))
    return sums.enclosed_risk(samples, costs, moved, errors)


def device_risk(
    piece: DeviceSamples, centre: Array, precise: bool, w: Array, low: Array | None, form: tuple[float, float]
) -> RiskBounds:
    """`core.sums.risk_of_block` on a device."""
    if precise or piece.uncertainty is not None:  # there is no device code for these
        parts = [host_risk(problem, centre, precise, w, low, form) for problem in on_host(piece)]
        lower, upper, least = zip(*parts, strict=True)
        return sum(lower), sum(upper), min(least)
    moved, errors = normal_to_frame(w, low, centre)
    frame = FramedSamples(piece, centre)  # type: ignore[arg-type]
    return device.enclosed_risk(piece, frame, moved, 2.0 * rounding_factor(piece.dim + 4), errors)


summed_by(MarginProblem, host_cuts, host_risk)
summed_by(DeviceSamples, device_cuts, device_risk)
