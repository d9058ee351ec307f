"""The independent check of a proof. Imports no solver; everything but the long sums is ball arithmetic."""

from collections.abc import Sequence
from math import inf
from operator import le

import numpy as np

from hypermargin.certificates import intervals_arb
from hypermargin.certificates.base import CertificateError
from hypermargin.certificates.compiled import intervals as compiled_intervals
from hypermargin.certificates.proof import Combination, DirectionBox, EnvelopeProof, RegionProof, SharedCut
from hypermargin.certificates.sums import cut_sums
from hypermargin.compilation import is_compiled
from hypermargin.passes.spread import SpreadProblem
from hypermargin.problems.margin import MarginProblem

#: The corners ``low`` and ``high`` of a box of directions.
Corners = tuple[list[float], list[float]]


def verified_lower_bound(proof: EnvelopeProof, problem: MarginProblem, by_arb: bool = False) -> float:
    """See `SoftMarginCertificate.bound_for`."""
    _check_shape(proof, problem)
    for sign in (-1, 1):
        _check_cover([region for region in proof.regions if region.sign == sign], problem)
    if proof.most_weight < inf:
        problem = problem.with_weights_up_to(proof.most_weight)
    with np.errstate(all="ignore"):  # what overflows proves nothing
        sums = cut_sums(proof, problem)
        if by_arb or not is_compiled(compiled_intervals):
            return intervals_arb.least_bound(proof, sums)
        one_class = sums.one_class.view(np.uint8)
        intervals = compiled_intervals.Intervals(sums.totals, sums.errors, one_class, problem.dim)
        return float(intervals.least_bound(proof.regions))


# -- is the proof complete? ------------------------------------------------------------------------------------------


def _check_shape(proof: EnvelopeProof, problem: MarginProblem) -> None:
    """The certificate is well formed and fits problems of this size."""
    if problem.is_hard:
        raise CertificateError("this certificate bounds a soft-margin problem; the problem has a hard margin")
    if proof.centre.shape != (problem.dim,) or proof.points.shape[1:] != (problem.dim + 1,):
        raise CertificateError(f"the certificate is not for dimension {problem.dim}")
    if not (np.isfinite(proof.centre).all() and np.isfinite(proof.points).all()):
        raise CertificateError("the certificate holds numbers that are not finite")
    if proof.duals is not None and (proof.duals.ndim != 2 or proof.duals.shape[1] != problem.n_samples):
        raise CertificateError(f"the certificate is not for {problem.n_samples} samples")
    if proof.cone_cuts and problem.allow_timelike:
        raise CertificateError("the certificate's cuts hold for spacelike normals, but timelike ones are allowed")
    if not proof.most_weight > 0.0:
        raise CertificateError("the largest weight that counts must be positive")
    if proof.most_weight < inf and isinstance(problem, SpreadProblem):
        raise CertificateError("a certificate with a largest weight is for a problem in memory")
    for cut in proof.shared:
        _check_shares(cut, proof, problem)
    compiled_intervals.require_intervals(proof.regions, proof.n_cuts)
    for region in proof.regions:
        for m in region.minorants:
            if m.chord:
                _check_chord(m, region, problem)


def _check_shares(cut: SharedCut, proof: EnvelopeProof, problem: MarginProblem) -> None:
    """A cut with shares names a point, and samples once each; rows are those of the problem."""
    if problem.uncertainty is not None:
        raise CertificateError("cuts with shares are for problems without an uncertainty set")
    samples, shares = cut.samples, cut.shares
    if not 0 <= cut.point < len(proof.points) or samples.ndim != 1 or samples.shape != shares.shape:
        raise CertificateError("a cut with shares is not one of a point of the certificate")
    if np.any(samples[1:] <= samples[:-1]):
        raise CertificateError("a cut with shares does not name its samples in ascending order")
    if not cut.named and samples.size and (samples[0] < 0 or samples[-1] >= problem.n_samples):
        raise CertificateError(f"the certificate is not for {problem.n_samples} samples")
    if not np.all((shares >= 0.0) & (shares <= 1.0)):
        raise CertificateError("a share of a cut is not between 0 and 1")


def _check_chord(m: Combination, region: RegionProof, problem: MarginProblem) -> None:
    """The chord of a minorant holds in its region."""
    if problem.allow_timelike or m.box is None or not _contains(m.box, region.box):
        raise CertificateError("a chord is used where none holds")
    if m.box.low.shape != (problem.dim,):
        raise CertificateError(f"the certificate is not for dimension {problem.dim}")


def _check_cover(regions: Sequence[RegionProof], problem: MarginProblem) -> None:
    """The boxes of the regions (of one sign of t) cover all directions of wr."""
    if any(region.box is None for region in regions):
        return
    boxes = [region.box for region in regions if region.box is not None]
    for box in boxes:
        on_face = (
            0 <= box.axis < problem.dim and box.side in (-1, 1) and box.low.shape == box.high.shape == (problem.dim,)
        )
        if not on_face or box.low[box.axis] != box.side or box.high[box.axis] != box.side:
            raise CertificateError("a box of directions is not part of a face of the cube")
    for axis in range(problem.dim):
        for side in (-1, 1):
            low, high = [-1.0] * problem.dim, [1.0] * problem.dim
            low[axis] = high[axis] = float(side)
            on_this = [box for box in boxes if box.axis == axis and box.side == side]
            if not _covered(low, high, [(box.low.tolist(), box.high.tolist()) for box in on_this]):
                raise CertificateError("the boxes of the certificate do not cover all directions")


def _contains(outer: DirectionBox, inner: DirectionBox | None) -> bool:
    """Whether every direction of `inner` is one of `outer`."""
    if inner is None or (outer.axis, outer.side) != (inner.axis, inner.side):
        return False
    if len({corner.shape for corner in (outer.low, outer.high, inner.low, inner.high)}) > 1:
        return False
    return _within(inner.low.tolist(), inner.high.tolist(), (outer.low.tolist(), outer.high.tolist()))


def _covered(low: list[float], high: list[float], boxes: list[Corners]) -> bool:
    """Whether ``low <= x <= high`` lies in the union of the boxes: split along a plane of some box and recurse."""
    if any(_within(low, high, box) for box in boxes):
        return True
    for box in boxes:
        for planes in box:
            for j, plane in enumerate(planes):
                if low[j] < plane < high[j]:
                    below, above = [*high[:j], plane, *high[j + 1 :]], [*low[:j], plane, *low[j + 1 :]]
                    return _covered(low, below, [b for b in boxes if b[0][j] < plane]) and _covered(
                        above, high, [b for b in boxes if b[1][j] > plane]
                    )
    return False


def _within(low: list[float], high: list[float], box: Corners) -> bool:
    """Whether ``low <= x <= high`` lies in the box."""
    return all(map(le, box[0], low)) and all(map(le, high, box[1]))
