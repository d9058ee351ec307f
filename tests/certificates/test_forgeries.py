"""Forged proofs that a slightly careless checker would believe: each is refused, or proves no more than is true.

Forgeries of the class of a cut use that a minorant from samples of one class rises for ever: data far apart, a small C,
and cuts of both classes whose sums lean one way. Believed to be of one class they would "prove" more than the optimum.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_bound import exact_cut

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates import CertificateError, Combination, RegionProof, SharedCut, SoftMarginCertificate
from hypermargin.certificates.core import soft_margin
from hypermargin.certificates.core.sums import CutSums, cut_sums
from hypermargin.certificates.fingerprints import sample_names
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from reference.brute import brute_force
from reference.objective import lift

SETS = [GeodesicBall(1e-6), Box(1e-6), CrossPolytope(1e-6), Ball(1e-6), Ellipsoid([[1e-6]])]
FAR_APART = lift(np.array([[10.0], [10.0], [10.0], [11.0], [-10.0], [-10.0], [-10.0], [-11.0]]))
LABELS = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
#: A cut at the first leaves out the far sample of class +1, one at the second that of class -1.
LEANING = np.array([[0.004, -0.044], [-0.004, -0.044]])


def two_regions(points, **fields):
    """Cut 0 for ``t >= 0`` and cut 1 for ``t <= 0``, each for all of the half space."""
    regions = tuple(
        RegionProof(sign, None, np.zeros(1), (Combination((cut,), (1.0,)),)) for cut, sign in enumerate((1, -1))
    )
    return SoftMarginCertificate(np.zeros(1), np.asarray(points), regions, **fields)


def best_value(problem):
    return float(brute_force(problem.X[None], problem.y[None], problem.costs[None])[0][0])


def far_apart(noise=None):
    return MarginProblem(FAR_APART, LABELS, C=1e-4, uncertainty=noise)


def believed(problem, proof, monkeypatch):
    """What the proof is worth to a checker that takes every cut for one of one class."""
    with monkeypatch.context() as patch:
        patch.setattr(soft_margin, "cut_sums", lambda *args: _of_one_class(cut_sums(*args)))
        return proof.bound_for(problem)


def _of_one_class(sums):
    return CutSums(sums.totals, sums.errors, np.ones_like(sums.one_class))


def assert_no_deceit(problem, proof, monkeypatch):
    """The proof is worth no more than is true, and would be worth more to a checker that is careless about classes."""
    best = best_value(far_apart())  # a robust optimum is not above this by more than its tiny sets allow
    assert proof.bound_for(problem) <= best
    assert proof.bound_for(problem, by_arb=True) <= best
    assert believed(problem, proof, monkeypatch) > 1.1 * best


@pytest.mark.parametrize("noise", [None, *SETS], ids=lambda noise: type(noise).__name__)
def test_cuts_of_both_classes_are_not_of_one(noise, monkeypatch):
    problem = far_apart(noise)
    assert_no_deceit(problem, two_regions(LEANING, threshold=0.5), monkeypatch)


@pytest.mark.parametrize("noise", SETS, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize("precise", [False, True])
def test_observed_points_below_a_high_threshold_are_of_both_classes(noise, precise, monkeypatch):
    """At ``+-(1, 0)`` only a threshold of 1 or less leaves one class."""
    problem = far_apart(noise)
    proof = two_regions([[1.0, 0.0], [-1.0, 0.0]], threshold=10.9, precise=precise)
    assert_no_deceit(problem, proof, monkeypatch)
    one_class = cut_sums(replace(proof, threshold=1.0 - 1e-9), problem).one_class
    assert one_class.all()


def test_explicit_weights_of_both_classes_are_not_of_one(monkeypatch):
    problem = far_apart()
    full = problem.costs / np.sqrt(2.0)
    duals = np.array([np.where(LABELS < 0.0, full, 0.9 * full), np.where(LABELS > 0.0, full, 0.9 * full)])
    assert_no_deceit(problem, two_regions(np.zeros((0, 2)), duals=duals), monkeypatch)


class InTwoPieces(MarginProblem):
    """Its samples lie in two places, each of one class."""

    def map_blocks(self, question, *args):
        return [
            question(MarginProblem(self.X[side], self.y[side], self.C), *args) for side in (self.y > 0.0, self.y < 0.0)
        ]


def test_pieces_of_one_class_each_are_not_of_one_class_together(monkeypatch):
    problem = InTwoPieces(FAR_APART, LABELS, C=1e-4)
    assert_no_deceit(problem, two_regions(LEANING, threshold=0.5), monkeypatch)


def test_rounding_in_the_frame_does_not_mix_classes():
    """Nothing forged: the centre is far out, where the computed x0 of samples of the frame may be less than 1."""
    space = [-9588.502975810472, -9811.403315212294, -10609.708057651887, -9370.666597106327, -8665.590872742321]
    X, y = lift(np.array(space)[:, None]), np.array([-1.0, -1.0, 1.0, -1.0, 1.0])
    weights = np.array([2.0, 1.0, 1.0, 1.0, 1.0])
    for noise in (GeodesicBall(0.001), Box(1e-6)):
        problem = MarginProblem(X, y, C=0.01, sample_weight=weights, uncertainty=noise)
        best = solve(problem, tol=1e-7)
        assert best.status is Status.OPTIMAL
        for tol in (0.1, 1e-2, 1e-3, 1e-5):
            solution = solve(problem, tol=tol)
            assert solution.status is Status.OPTIMAL
            assert 0.0 <= solution.gap <= tol
            assert solution.lower_bound <= best.objective


# -- shares ----------------------------------------------------------------------------------------------------------


def with_shares(shares):
    """Regions that use cuts with shares only, of all samples."""
    samples = np.arange(len(LABELS))
    shared = tuple(SharedCut(0, samples, np.asarray(share)) for share in shares)
    proof = two_regions(np.zeros((1, 2)), shared=shared)
    return replace(
        proof,
        regions=tuple(
            replace(region, minorants=tuple(replace(m, cuts=(m.cuts[0] + 1,)) for m in region.minorants))
            for region in proof.regions
        ),
    )


@pytest.mark.parametrize("share", [2.0, np.nextafter(1.0, 2.0), -1e-300, np.nan, np.inf])
def test_shares_are_between_0_and_1(share):
    """Shares of 2 would prove twice the risk of all classifiers that misclassify."""
    problem = far_apart()
    good = np.where(LABELS < 0.0, 1.0, 0.0), np.where(LABELS > 0.0, 1.0, 0.0)
    assert 0.0 < with_shares(good).bound_for(problem) <= best_value(problem)
    bad = good[0].copy(), good[1]
    bad[0][np.argmax(bad[0])] = share
    with pytest.raises(CertificateError, match="share of a cut"):
        with_shares(bad).bound_for(problem)


@pytest.mark.parametrize("named", [False, True])
def test_errors_of_the_points_themselves_are_charged_to_shares(named):
    """Far out a sample errs by its distance squared, and beside that the rounding of sums is nothing."""
    rng = np.random.default_rng(0)
    X = lift(1e4 * (1.0 + 1e-3 * rng.normal(size=(4, 1))) * np.array([0.6, 0.8]))
    problem = MarginProblem(X, np.array([1.0, -1.0, 1.0, 1.0]))
    shares, centre = np.array([1.0, 0.5, 0.25, 1.0]), X[0, 1:]
    samples = np.arange(4)
    if named:
        names = sample_names(problem)
        samples = np.sort(names)
        shares = shares[np.argsort(names)]
    cut = SharedCut(0, samples, shares, named)
    totals, errors, one_class = cut_sums(SoftMarginCertificate(centre, np.zeros((1, 3)), (), shared=(cut,)), problem)
    assert not one_class[1]
    exact = exact_cut(problem, np.array([1.0, 0.5, 0.25, 1.0]), centre)
    off = [abs(e - Fraction(float(t))) for e, t in zip(exact, totals[1], strict=True)]
    assert all(o <= Fraction(float(e)) for o, e in zip(off, errors[1], strict=True))
    assert max(off) > 1e-11  # which rounding of the sum is not: four terms of size 1
    assert errors[1].max() <= 1e-5
