"""Proofs of more than the truth, valid in a part of the space only: what a careless checker would take for a bound.

The certificates of the solver prove the same number everywhere, so leaving out a part of one changes little. Here the
parts of the space away from the optimum are proved to have larger values.
"""

from dataclasses import replace

from hypermargin.solvers.exact.compiled.region import QUERY
from hypermargin.solvers.exact.runs import make_certificate, make_search


def partial_certificate(problem, best, factor=1.01):
    """A certificate of the regions in which the objective is at least `factor` times `best`, and no others."""
    search = make_search(problem)
    search.start()
    for _ in range(60):
        search.step(1e-6)
    proved = []
    for leaf in search.leaves:
        for _ in range(40):
            action = leaf.region.advance(factor * best)
            if action != QUERY:
                break
            leaf.region.absorb(search.evaluator.evaluate(leaf.region.query), factor * best)
        proved.append(leaf.region.lower_bound() >= factor * best)
    certificate = make_certificate(search, factor * best)
    kept = tuple(region for region, good in zip(certificate.regions, proved, strict=True) if good)
    return replace(certificate, regions=kept)
