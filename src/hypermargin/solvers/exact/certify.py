"""From a finished search to a certificate: the fewest intervals and cuts that prove the bound."""

from dataclasses import replace

import numpy as np

from hypermargin.certificates import Combination, RegionProof, SharedCut, SoftMarginCertificate
from hypermargin.solvers.exact.costs import ALL, Costs
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.search import Leaf, Search

#: The certificate proves this share of the tolerance: a looser proof has fewer intervals.
PROVED = 0.5


def bound_to_prove(objective: float, tol: float) -> float:
    """The bound that a certificate is made for where the best objective is this one."""
    return objective * (1.0 - PROVED * tol)


def make_certificate(search: Search, oracle: HingeOracle, bound: float, costs: Costs = ALL) -> SoftMarginCertificate:
    """The certificate that `search` holds for `bound` (at most its lower bound).

    A search with a share of the problem's `costs` has cuts that are so much of the cuts at the same points.
    """
    numbers: dict[int, int] = {}  # cut of the pool -> cut of the certificate, in order of use
    regions = tuple(_region_proof(leaf, bound, numbers, costs.share) for leaf in search.leaves)
    if not regions:  # nothing is claimed but that the objective is not negative
        regions = tuple(RegionProof(sign, None, np.zeros(1), (Combination((), ()),)) for sign in (-1, 1))
    certificate = SoftMarginCertificate(
        oracle.frame.centre[1:].copy(),
        search.pool.points_of(list(numbers)),
        regions,
        oracle.threshold,
        precise=oracle.frame.precise,
        cone_cuts=oracle.cone_cuts,
        most_weight=costs.most_weight,
    )
    shared = [cut for cut in numbers if cut in search.shares]
    return _with_shares(certificate, search, numbers, shared) if shared else certificate


def _with_shares(
    certificate: SoftMarginCertificate, search: Search, numbers: dict[int, int], shared: list[int]
) -> SoftMarginCertificate:
    """Plain cuts come first, then those with shares; cuts that differ in their shares only have one point."""
    plain = [cut for cut in numbers if cut not in search.shares]
    points = list(plain)
    of_point = {search.pool.points_of([cut]).tobytes(): k for k, cut in enumerate(plain)}
    cuts = []
    for cut in shared:
        key = search.pool.points_of([cut]).tobytes()
        if key not in of_point:
            of_point[key] = len(points)
            points.append(cut)
        shares = search.shares[cut]
        cuts.append(SharedCut(of_point[key], shares.samples, shares.values, shares.named))
    places = {numbers[cut]: k for k, cut in enumerate(plain)}
    places |= {numbers[cut]: len(points) + k for k, cut in enumerate(shared)}
    renumbered = tuple(
        replace(
            region,
            minorants=tuple(replace(m, cuts=tuple(places[cut] for cut in m.cuts)) for m in region.minorants),
        )
        for region in certificate.regions
    )
    return replace(certificate, points=search.pool.points_of(points), regions=renumbered, shared=tuple(cuts))


def _region_proof(leaf: Leaf, bound: float, numbers: dict[int, int], share: float) -> RegionProof:
    intervals = leaf.region.proof_of(bound, numbers, share)
    minorants = tuple([Combination(*minorant) for _, *minorant in intervals])
    return RegionProof(int(leaf.region.side()), leaf.box, np.array([node for node, *_ in intervals]), minorants)
