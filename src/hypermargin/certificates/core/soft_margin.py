"""The certificate of a lower bound for the soft margin: whether it is complete, what it proves, and its file format.

No solver takes part, and everything but the sums over the samples is ball arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import le
from typing import Any, ClassVar, Self

import numpy as np

from hypermargin.certificates.core.certificate import Certificate, CertificateError
from hypermargin.certificates.core.compiled import intervals
from hypermargin.certificates.core.objective import answer_above
from hypermargin.certificates.core.proof import Combination, DirectionBox, EnvelopeProof, RegionProof, SharedCut
from hypermargin.certificates.core.sums import cut_sums

#: The corners ``low`` and ``high`` of a box of directions.
Corners = tuple[list[float], list[float]]


@dataclass(frozen=True, eq=False)
class SoftMarginCertificate(EnvelopeProof, Certificate):
    """A lower bound for the hinge objective of a margin problem; its parameters are those of `EnvelopeProof`."""

    FORMAT: ClassVar[str] = "hypermargin-certificate-1"
    PROVES: ClassVar[str] = "no boundary has a smaller objective than the lower bound"
    KEYED: ClassVar = Certificate.KEYED | {"shared", "precise", "cone_cuts", "most_weight"}

    def _bound(self, problem: Any) -> float:
        """See `Certificate.bound_for`; the code that checks it shares nothing with the solvers.

        A `CertificateError` if the proof does not cover all hyperplanes or does not fit the problem.
        """
        return verified_lower_bound(self, problem)

    def _objective(self, problem: Any) -> float:
        assert self.answer is not None
        return answer_above(self.answer, problem, self.centre, self.precise)

    @property
    def goes_by_row(self) -> bool:
        return any(not cut.named for cut in self.shared) or self.duals is not None

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> Self:
        proof = super()._from_content(data)
        return replace(proof, points=proof.points.reshape(-1, proof.centre.size + 1))  # no points have no width either


def verified_lower_bound(proof: EnvelopeProof, problem: Any) -> float:
    """See `SoftMarginCertificate.bound_for`."""
    _check_shape(proof, problem)
    for sign in (-1, 1):
        _check_cover([region for region in proof.regions if region.sign == sign], problem)
    if proof.most_weight < inf:
        problem = problem.with_weights_up_to(proof.most_weight)
    with np.errstate(all="ignore"):  # what overflows proves nothing
        sums = cut_sums(proof, problem)
        one_class = sums.one_class.view(np.uint8)
        return float(intervals.Intervals(sums.totals, sums.errors, one_class, problem.dim).least_bound(proof.regions))


# -- is the proof complete? ------------------------------------------------------------------------------------------


def _check_shape(proof: EnvelopeProof, problem: Any) -> None:
    """The certificate is well formed and fits problems of this size."""
    if problem.is_hard:
        raise CertificateError("this certificate bounds a soft-margin problem; the problem has a hard margin")
    if proof.centre.shape != (problem.dim,) or proof.points.shape[1:] != (problem.dim + 1,):
        raise CertificateError(f"the certificate is not for dimension {problem.dim}")
    if not (np.isfinite(proof.centre).all() and np.isfinite(proof.points).all()):
        raise CertificateError("the certificate holds numbers that are not finite")
    if proof.duals is not None and (proof.duals.ndim != 2 or proof.duals.shape[1] != problem.n_samples):
        raise CertificateError(f"the certificate is not for {problem.n_samples} samples")
    if proof.duals is not None and not np.isfinite(proof.duals).all():
        raise CertificateError("the certificate holds numbers that are not finite")
    if proof.cone_cuts and problem.allow_timelike:
        raise CertificateError("the certificate's cuts hold for spacelike normals, but timelike ones are allowed")
    if not proof.most_weight > 0.0:
        raise CertificateError("the largest weight that counts must be positive")
    for cut in proof.shared:
        _check_shares(cut, proof, problem)
    intervals.require_intervals(proof.regions, proof.n_cuts)
    for region in proof.regions:
        for m in region.minorants:
            if m.chord:
                _check_chord(m, region, problem)


def _check_shares(cut: SharedCut, proof: EnvelopeProof, problem: Any) -> None:
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


def _check_chord(m: Combination, region: RegionProof, problem: Any) -> None:
    """The chord of a minorant holds in its region."""
    if problem.allow_timelike or m.box is None or not _contains(m.box, region.box):
        raise CertificateError("a chord is used where none holds")
    if m.box.low.shape != (problem.dim,):
        raise CertificateError(f"the certificate is not for dimension {problem.dim}")


def _check_cover(regions: Sequence[RegionProof], problem: Any) -> None:
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
    """Whether ``low <= x <= high`` lies in the union of the boxes: split along planes of boxes, to any depth."""
    waiting = [(low, high, boxes)]
    while waiting:
        low, high, boxes = waiting.pop()
        if any(_within(low, high, box) for box in boxes):
            continue
        planes = ((j, plane) for box in boxes for corner in box for j, plane in enumerate(corner))
        j, plane = next(((j, plane) for j, plane in planes if low[j] < plane < high[j]), (-1, 0.0))
        if j < 0:
            return False
        waiting.append((low, [*high[:j], plane, *high[j + 1 :]], [b for b in boxes if b[0][j] < plane]))
        waiting.append(([*low[:j], plane, *low[j + 1 :]], high, [b for b in boxes if b[1][j] > plane]))
    return True


def _within(low: list[float], high: list[float], box: Corners) -> bool:
    """Whether ``low <= x <= high`` lies in the box."""
    return all(map(le, box[0], low)) and all(map(le, high, box[1]))
