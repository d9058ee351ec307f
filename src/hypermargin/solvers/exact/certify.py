"""From a finished search to a certificate: the fewest intervals and cuts that prove the bound."""

import numpy as np

from hypermargin.certificates import Combination, RegionProof, SoftMarginCertificate
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.search import Leaf, Search


def make_certificate(
    search: Search, frame: Frame, threshold: float, bound: float, share: float = 1.0
) -> SoftMarginCertificate:
    """The certificate that `search` holds for `bound` (at most its lower bound).

    A search with `share` of the problem's costs has cuts that are so much of the cuts at the same points.
    """
    numbers: dict[int, int] = {}  # cut of the pool -> cut of the certificate, in order of use
    regions = tuple(_region_proof(leaf, bound, numbers, share) for leaf in search.leaves)
    if not regions:  # nothing is claimed but that the objective is not negative
        regions = tuple(RegionProof(sign, None, np.zeros(1), (Combination((), ()),)) for sign in (-1, 1))
    points = search.pool.points_of(list(numbers))
    return SoftMarginCertificate(frame.centre[1:].copy(), points, regions, threshold, precise=frame.precise)


def _region_proof(leaf: Leaf, bound: float, numbers: dict[int, int], share: float) -> RegionProof:
    nodes, minorants = [], []
    for node, cuts, weights, chord, box in leaf.region.proof_of(bound, numbers):
        nodes.append(node)
        minorants.append(Combination(cuts, tuple(share * v for v in weights), chord, box if chord else None))
    return RegionProof(int(leaf.region.side()), leaf.box, np.array(nodes), tuple(minorants))
