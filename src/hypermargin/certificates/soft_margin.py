"""The certificate of a lower bound for the soft margin: a finite object that anyone can check against the problem."""

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from hypermargin.certificates.base import Certificate
from hypermargin.certificates.proof import Combination, DirectionBox, EnvelopeProof, RegionProof, SharedCut
from hypermargin.certificates.verify import verified_lower_bound
from hypermargin.problems.margin import MarginProblem
from hypermargin.safe_io import as_numbers


@dataclass(frozen=True, eq=False)
class SoftMarginCertificate(EnvelopeProof, Certificate):
    """A lower bound for the hinge objective of a margin problem; its parameters are those of `EnvelopeProof`."""

    FORMAT: ClassVar[str] = "hypermargin-certificate-1"
    PROVES: ClassVar[str] = "no boundary has a smaller objective than the lower bound"

    def bound_for(self, problem: MarginProblem, *, by_arb: bool = False) -> float:
        """See `Certificate.bound_for`; the code that checks it shares nothing with the solvers.

        With `by_arb` all that follows the sums over the data is done by the library Arb instead of this package's own
        ball arithmetic. A `CertificateError` if the proof does not cover all hyperplanes or does not fit the problem.
        """
        return verified_lower_bound(self, problem, by_arb)

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
