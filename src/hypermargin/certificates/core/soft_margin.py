"""The certificate of a lower bound for the soft margin: whether it is complete, what it proves, and its file format.

No solver takes part, and everything but the sums over the samples is ball arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from operator import le
from typing import Any, ClassVar

import numpy as np

from hypermargin.certificates.core.certificate import Certificate, CertificateError
from hypermargin.certificates.core.compiled import intervals
from hypermargin.certificates.core.objective import answer_above
from hypermargin.certificates.core.proof import Combination, DirectionBox, EnvelopeProof, RegionProof, SharedCut
from hypermargin.certificates.core.sums import cut_sums
from hypermargin.safe_io import as_numbers

#: The corners ``low`` and ``high`` of a box of directions.
Corners = tuple[list[float], list[float]]


@dataclass(frozen=True, eq=False)
class SoftMarginCertificate(EnvelopeProof, Certificate):
    """A lower bound for the hinge objective of a margin problem; its parameters are those of `EnvelopeProof`."""

    FORMAT: ClassVar[str] = "hypermargin-certificate-1"
    PROVES: ClassVar[str] = "no boundary has a smaller objective than the lower bound"

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

    def _content(self) -> dict[str, Any]:
        return {
            "centre": self.centre.tolist(),
            "threshold": self.threshold,
            "points": self.points.tolist(),
            "duals": None if self.duals is None else self.duals.tolist(),
            "regions": [_region_to_dict(region) for region in self.regions],
            **({"shared": [_shared_to_list(cut) for cut in self.shared]} if self.shared else {}),
            **({"precise": True} if self.precise else {}),
            **({"cone_cuts": True} if self.cone_cuts else {}),
            **({"most_weight": self.most_weight} if self.most_weight < inf else {}),
        }

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> "SoftMarginCertificate":
        return cls(
            centre=as_numbers(data["centre"], ndim=1),
            points=np.array(data["points"], dtype=np.float64).reshape(-1, len(data["centre"]) + 1),
            regions=tuple(_region_from_dict(region) for region in data["regions"]),
            threshold=float(data["threshold"]),
            duals=None if data["duals"] is None else as_numbers(data["duals"], ndim=2),
            shared=tuple(_shared_from_list(cut) for cut in data.get("shared", ())),
            precise=bool(data.get("precise", False)),
            cone_cuts=bool(data.get("cone_cuts", False)),
            most_weight=float(data.get("most_weight", inf)),
        )


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


# -- files -----------------------------------------------------------------------------------------------------------


def _shared_to_list(cut: SharedCut) -> list[Any]:
    """Rows are numbers, names are text: 16 hexadecimal digits."""
    samples = cut.samples.tolist()
    return [cut.point, [f"{k % 2**64:016x}" for k in samples] if cut.named else samples, cut.shares.tolist()]


def _shared_from_list(data: list[Any]) -> SharedCut:
    point, samples, shares = data
    if samples and isinstance(samples[0], str):
        names = np.array([int(name, 16) for name in samples], dtype=np.uint64).view(np.int64)
        return SharedCut(int(point), names, as_numbers(shares, ndim=1), named=True)
    numbers = as_numbers(samples, ndim=1)
    if not np.array_equal(numbers, np.rint(numbers)) or np.any(np.abs(numbers) > 2.0**52):
        raise ValueError("the samples of a cut are not whole numbers")
    return SharedCut(int(point), numbers.astype(np.intp), as_numbers(shares, ndim=1))


def _region_to_dict(region: RegionProof) -> dict[str, Any]:
    return {
        "sign": region.sign,
        "box": _box_to_list(region.box),
        "nodes": region.nodes.tolist(),
        "minorants": [[list(m.cuts), list(m.weights), m.chord, _box_to_list(m.box)] for m in region.minorants],
    }


def _region_from_dict(data: dict[str, Any]) -> RegionProof:
    return RegionProof(
        sign=int(data["sign"]),
        box=_box_from_list(data["box"]),
        nodes=as_numbers(data["nodes"], ndim=1),
        minorants=tuple(
            Combination(
                tuple(int(j) for j in cuts), tuple(float(v) for v in weights), float(chord), _box_from_list(box)
            )
            for cuts, weights, chord, box in data["minorants"]
        ),
    )


def _box_to_list(box: DirectionBox | None) -> list[Any] | None:
    return None if box is None else [box.axis, box.side, box.low.tolist(), box.high.tolist()]


def _box_from_list(data: list[Any] | None) -> DirectionBox | None:
    if data is None:
        return None
    axis, side, low, high = data
    return DirectionBox(int(axis), int(side), as_numbers(low, ndim=1), as_numbers(high, ndim=1))
