"""From a finished search to a certificate: the fewest intervals and cuts that prove the bound."""

import numpy as np

from hypermargin.certificates import Combination, RegionProof, SoftMarginCertificate
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.search import Leaf, Search


def make_certificate(search: Search, frame: Frame, threshold: float, bound: float) -> SoftMarginCertificate:
    """The certificate that `search` holds for `bound` (at most its lower bound)."""
    numbers: dict[int, int] = {}  # cut of the pool -> cut of the certificate, in order of use
    regions = tuple(_region_proof(leaf, bound, numbers) for leaf in search.leaves)
    if not regions:  # nothing is claimed but that the objective is not negative
        regions = tuple(RegionProof(sign, None, np.zeros(1), (Combination((), ()),)) for sign in (-1, 1))
    points = search.pool.points_of(list(numbers))
    return SoftMarginCertificate(frame.centre[1:].copy(), points, regions, threshold, precise=frame.precise)


def _region_proof(leaf: Leaf, bound: float, numbers: dict[int, int]) -> RegionProof:
    nodes, minorants = [], []
    for node, cuts, weights, chord, box in leaf.region.proof_of(bound, numbers):
        nodes.append(node)
        minorants.append(Combination(cuts, weights, chord, box if chord else None))
    return RegionProof(int(leaf.region.side()), leaf.box, np.array(nodes), tuple(minorants))
