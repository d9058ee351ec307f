"""From a finished search to a certificate: the fewest intervals and cuts that prove the bound."""

from dataclasses import replace

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import Combination, RegionProof, SharedCut, SoftMarginCertificate
from hypermargin.solvers.exact.search import Leaf, Search


def make_certificate(search: Search, centre: Array, threshold: float, bound: float) -> SoftMarginCertificate:
    """The certificate that `search` holds for `bound` (at most its lower bound)."""
    numbers: dict[int, int] = {}  # cut of the pool -> cut of the certificate, in order of use
    regions = tuple(_region_proof(leaf, bound, numbers) for leaf in search.leaves)
    if not regions:  # nothing is claimed but that the objective is not negative
        regions = tuple(RegionProof(sign, None, np.zeros(1), (Combination((), ()),)) for sign in (-1, 1))
    plain = [cut for cut in numbers if cut not in search.shares]
    if len(plain) == len(numbers):
        return SoftMarginCertificate(centre[1:].copy(), search.pool.points_of(plain), regions, threshold)
    return _with_shares(search, centre, threshold, regions, numbers, plain)


def _with_shares(
    search: Search,
    centre: Array,
    threshold: float,
    regions: tuple[RegionProof, ...],
    numbers: dict[int, int],
    plain: list[int],
) -> SoftMarginCertificate:
    """Plain cuts come first, then those with shares; cuts that differ in their shares only have one point."""
    shared = [cut for cut in numbers if cut in search.shares]
    points = list(plain)
    of_point = {search.pool.points_of([cut]).tobytes(): k for k, cut in enumerate(plain)}
    cuts = []
    for cut in shared:
        key = search.pool.points_of([cut]).tobytes()
        if key not in of_point:
            of_point[key] = len(points)
            points.append(cut)
        cuts.append(SharedCut(of_point[key], search.shares[cut].samples, search.shares[cut].values))
    places = {numbers[cut]: k for k, cut in enumerate(plain)}
    places |= {numbers[cut]: len(points) + k for k, cut in enumerate(shared)}
    renumbered = tuple(
        replace(
            region,
            minorants=tuple(replace(m, cuts=tuple(places[cut] for cut in m.cuts)) for m in region.minorants),
        )
        for region in regions
    )
    return SoftMarginCertificate(
        centre[1:].copy(), search.pool.points_of(points), renumbered, threshold, shared=tuple(cuts)
    )


def _region_proof(leaf: Leaf, bound: float, numbers: dict[int, int]) -> RegionProof:
    nodes, minorants = [], []
    for node, cuts, weights, chord, box in leaf.region.proof_of(bound, numbers):
        nodes.append(node)
        minorants.append(Combination(cuts, weights, chord, box if chord else None))
    return RegionProof(int(leaf.region.side()), leaf.box, np.array(nodes), tuple(minorants))
