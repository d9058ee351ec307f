"""The check of certificates: files keep every bit, damage is refused or proves less, long sums are within their errors.

The judge of bounds is the enumeration of all stationary points of tiny problems (`reference.brute`), whose value is an
upper bound on the optimum; that of sums and end values is exact rational arithmetic and fifty digits.
"""

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from damage import DAMAGES, damaged
from exact_bound import exact_bound, exact_cut, framed_row
from hypothesis import given, settings
from hypothesis import strategies as st
from partial_proof import partial_certificate

from hypermargin import MarginProblem, Status, solve
from hypermargin.certificates import CertificateError, SoftMarginCertificate
from hypermargin.certificates.core import soft_margin
from hypermargin.certificates.core.sums import cut_sums
from hypermargin.geometry.lorentz import fixed_order_product
from reference.brute import brute_force
from reference.instances import make_instance
from reference.objective import lift

CASES = [
    ("overlap", 1, 6, 1.0),
    ("overlap", 2, 7, 1.0),
    ("overlap", 3, 6, 10.0),
    ("separable", 2, 6, 0.1),
    ("weighted", 2, 6, 1.0),
    ("surrounded", 2, 7, 1.0),
    ("surrounded", 2, 8, 10.0),
    ("surrounded", 3, 7, 10.0),
]


def best_value(problem):
    """The value of the best point that enumeration finds: never below the optimum."""
    costs = problem.costs[None]
    return float(brute_force(problem.X[None], problem.y[None], costs, timelike=problem.allow_timelike)[0][0])


@cache
def solved(case):
    """Problem, its certificate, and the best value known."""
    family, d, n, C = case
    instance = make_instance(family, d=d, n=n, C=C, seed=5)
    problem = MarginProblem(instance.X, instance.y, C=C, sample_weight=instance.weight)
    solution = solve(problem, tol=1e-6)
    assert solution.status is Status.OPTIMAL
    return problem, solution.certificate, best_value(problem)


def bound_or_refusal(certificate, problem, **how):
    """The verified bound, or minus infinity where the certificate is refused, or was when it was read (None)."""
    if certificate is None:
        return -np.inf
    try:
        return certificate.bound_for(problem, **how)
    except CertificateError:
        return -np.inf


def uses_chords(certificate):
    return any(minorant.chord for region in certificate.regions for minorant in region.minorants)


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_file_keeps_the_bound_bit_for_bit(case, tmp_path):
    problem, certificate, best = solved(case)
    certificate.save(tmp_path / "proof.json")
    loaded = SoftMarginCertificate.load(tmp_path / "proof.json")
    assert loaded.bound_for(problem) == certificate.verify(problem)
    assert loaded.to_dict() == certificate.to_dict()
    # What makes the bounds above worth keeping: they are the optimum, nearly.
    assert best * (1.0 - 2e-6) <= loaded.bound_for(problem) <= best


def test_explicit_weights_survive_a_file(tmp_path):
    problem, certificate, _ = solved(CASES[1])
    duals = np.random.default_rng(0).random((2, problem.n_samples))
    certificate = replace(certificate, duals=duals)
    certificate.save(tmp_path / "proof.json")
    assert np.array_equal(SoftMarginCertificate.load(tmp_path / "proof.json").duals, duals)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "something-else"),
        (["centre"], None),
        (["centre"], 0.5),
        (["points"], [[1.0], [1.0, 2.0]]),
        (["points"], [[1.0, 2.0]]),
        (["threshold"], "one"),
        (["regions"], None),
        (["regions", 0, "sign"], None),
        (["regions", 0, "sign"], float("inf")),
        (["regions", 0, "box"], [0, 1]),
        (["regions", 0, "box"], [float("inf"), 1, [1.0, 0.0], [1.0, 1.0]]),
        (["regions", 0, "minorants", 0], [[0], [1.0]]),
        (["regions", 0, "minorants", 0, 0], [None]),
        (["duals"], "many"),
    ],
)
def test_what_is_no_certificate_is_said_to_be_none(path, value):
    plain = json.loads(json.dumps(solved(CASES[5])[1].to_dict()))
    *route, last = path
    place = plain
    for key in route:
        place = place[key]
    place[last] = value
    with pytest.raises(CertificateError):
        SoftMarginCertificate.from_dict(plain)


def test_a_file_without_json_is_refused(tmp_path):
    (tmp_path / "proof.json").write_text("not a certificate")
    with pytest.raises(CertificateError, match="not a certificate file"):
        SoftMarginCertificate.load(tmp_path / "proof.json")


# -- damage ----------------------------------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    case=st.sampled_from(CASES),
    names=st.lists(st.sampled_from(sorted(DAMAGES)), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_damaged_certificate_never_proves_too_much(case, names, seed):
    problem, certificate, best = solved(case)
    broken = damaged(certificate, problem.n_samples, np.random.default_rng(seed), names)
    assert bound_or_refusal(broken, problem) <= best
    assert bound_or_refusal(broken, problem, by_arb=True) <= best


@cache
def partly_proved(case):
    """Problem, a proof of 1.01 times its optimum that leaves out some of the space, and the best value known."""
    problem, _, best = solved(case)
    return problem, partial_certificate(problem, best), best


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    case=st.sampled_from([CASES[1], CASES[4], CASES[5], CASES[6]]),
    names=st.lists(st.sampled_from(sorted(DAMAGES)), max_size=2),
    seed=st.integers(0, 2**32 - 1),
)
def test_half_a_proof_never_passes_for_a_whole_one(case, names, seed):
    problem, partial, best = partly_proved(case)
    regions = partial.regions
    # The best an adversary can do is to say that the regions it has are those it lacks.
    turned = tuple(replace(region, sign=-region.sign) for region in regions)
    everywhere = tuple(replace(region, box=None) for region in regions[:1])
    behind = tuple(replace(region, sign=-region.sign) for region in everywhere)
    for claimed in (regions, regions + turned, everywhere + behind, regions + behind):
        broken = damaged(replace(partial, regions=claimed), problem.n_samples, np.random.default_rng(seed), names)
        assert bound_or_refusal(broken, problem) <= best


@pytest.mark.parametrize(
    ("case", "check", "careless"),
    [
        (CASES[1], "_check_cover", lambda regions, problem: None),
        (CASES[5], "_check_cover", lambda regions, problem: None),
        (CASES[5], "_covered", lambda low, high, boxes: True),
    ],
)
def test_half_a_proof_would_deceive_a_checker_that_ignores_the_cover(monkeypatch, case, check, careless):
    problem, partial, best = partly_proved(case)
    regions = partial.regions
    if check == "_covered":  # boxes for both signs, so that only the directions are left out
        assert {region.sign for region in regions} == {-1, 1}
    with pytest.raises(CertificateError, match="cover"):
        partial.bound_for(problem)
    monkeypatch.setattr(soft_margin, check, careless)
    assert partial.bound_for(problem) > best


def test_a_chord_of_other_directions_would_deceive_a_checker_that_ignores_whose_it_is(monkeypatch):
    problem, partial, best = partly_proved(CASES[5])
    _, complete, _ = solved(CASES[5])
    # Proofs from one box, claimed for every box of a complete cover.
    claimed = []
    for sign in (-1, 1):
        proof = next(region for region in partial.regions if region.sign == sign)
        claimed += [
            replace(region, nodes=proof.nodes, minorants=proof.minorants)
            for region in complete.regions
            if region.sign == sign
        ]
    assert any(minorant.chord for region in claimed for minorant in region.minorants)
    broken = replace(partial, regions=tuple(claimed))
    with pytest.raises(CertificateError, match="chord"):
        broken.bound_for(problem)
    monkeypatch.setattr(soft_margin, "_contains", lambda outer, inner: True)
    assert broken.bound_for(problem) > best


def with_region(certificate, k, **changes):
    """The certificate with fields of region k replaced."""
    regions = list(certificate.regions)
    regions[k] = replace(regions[k], **changes)
    return replace(certificate, regions=tuple(regions))


def with_minorant(certificate, k, i, **changes):
    """The certificate with fields of minorant i of region k replaced."""
    minorants = list(certificate.regions[k].minorants)
    minorants[i] = replace(minorants[i], **changes)
    return with_region(certificate, k, minorants=tuple(minorants))


@pytest.mark.parametrize("case", [CASES[1], CASES[5], CASES[7]])
def test_a_gap_in_the_cover_is_refused(case):
    problem, certificate, _ = solved(case)
    regions = certificate.regions
    for k, region in enumerate(regions[:6]):
        nodes = region.nodes
        later = np.concatenate([[1e-9], nodes[1:]])
        for broken in (
            replace(certificate, regions=regions[:k] + regions[k + 1 :]),
            with_region(certificate, k, sign=-region.sign),
            with_region(certificate, k, sign=0),
            with_region(certificate, k, nodes=later),
            with_region(certificate, k, nodes=nodes[:-1]),
            with_region(certificate, k, nodes=nodes[:0], minorants=()),
            with_region(certificate, k, nodes=np.append(nodes[:-1], np.inf)),
            with_region(certificate, k, nodes=np.append(nodes[:-1], np.nan)),
            with_region(certificate, k, nodes=np.array(0.0)),
            with_region(certificate, k, minorants=region.minorants[:-1]),
        ):
            with pytest.raises(CertificateError):
                broken.bound_for(problem)
        if len(nodes) > 2:
            with pytest.raises(CertificateError):
                with_region(certificate, k, nodes=nodes[[0, 2, 1, *range(3, len(nodes))]]).bound_for(problem)


@pytest.mark.parametrize("case", [CASES[5], CASES[7]])
def test_a_box_that_is_too_small_or_off_its_face_is_refused(case):
    problem, certificate, _ = solved(case)
    boxed = [k for k, region in enumerate(certificate.regions) if region.box is not None]
    assert boxed
    for k in boxed[:6]:
        box = certificate.regions[k].box
        j = (box.axis + 1) % problem.dim
        shrunk = box.high.copy()
        shrunk[j] = np.nextafter(shrunk[j], -2.0)
        off = box.high.copy()
        off[box.axis] *= 0.5
        inner = box.low if box.side > 0 else box.high  # the corner away from the face: the box still covers its part
        deep = {"low" if box.side > 0 else "high": np.where(np.arange(problem.dim) == box.axis, 0.5 * inner, inner)}
        plain = tuple(replace(m, chord=0.0, box=None) for m in certificate.regions[k].minorants)
        off_face = with_region(certificate, k, box=replace(box, **deep), minorants=plain)
        with pytest.raises(CertificateError, match="not part of a face"):
            off_face.bound_for(problem)
        for broken in (
            replace(box, high=shrunk),
            replace(box, low=box.high, high=box.low),
            replace(box, high=off),
            replace(box, side=-box.side),
            replace(box, axis=problem.dim),
            replace(box, low=box.low[:-1], high=box.high[:-1]),
            replace(box, low=np.full(problem.dim, np.nan)),
        ):
            with pytest.raises(CertificateError):
                with_region(certificate, k, box=broken).bound_for(problem)


@pytest.mark.parametrize(
    "changes",
    [
        {"cuts": (10_000,), "weights": (1.0,)},
        {"cuts": (-1,), "weights": (1.0,)},
        {"cuts": (0, 1), "weights": (1.0,)},
        {"cuts": (0,), "weights": (-1e-9,)},
        {"cuts": (0,), "weights": (np.nan,)},
        {"cuts": (0,), "weights": (np.inf,)},
        {"chord": -1e-9},
        {"chord": np.nan},
        {"chord": np.inf},
        {"chord": 1.0, "box": None},
    ],
)
def test_what_is_no_minorant_is_refused(changes):
    problem, certificate, _ = solved(CASES[5])
    with pytest.raises(CertificateError):
        with_minorant(certificate, 0, 0, **changes).bound_for(problem)


def test_a_chord_of_other_directions_is_refused():
    problem, certificate, _ = solved(CASES[5])
    boxes = [region.box for region in certificate.regions]
    used = [
        (k, i)
        for k, region in enumerate(certificate.regions)
        for i, minorant in enumerate(region.minorants)
        if minorant.chord
    ]
    assert used
    for k, i in used:
        own = boxes[k]
        others = [box for box in boxes if box is not None and (box.axis, box.side) != (own.axis, own.side)]
        half = replace(own, high=np.where(own.low < own.high, 0.5 * (own.low + own.high), own.high))
        short = replace(own, low=own.low[:1], high=own.high[:1])
        long = replace(own, low=np.append(own.low, 0.0), high=np.append(own.high, 0.0))
        wide = replace(own, low=own.low - 5.0, high=own.high + 5.0)
        for box in (others[0], half, short, long, wide):
            with pytest.raises(CertificateError):
                with_minorant(certificate, k, i, box=box).bound_for(problem)


@pytest.mark.parametrize("case", [CASES[1], CASES[4], CASES[5]])
@pytest.mark.parametrize("factor", [1.0 + 1e-5, 1.01, 2.0, 1e300])
def test_weights_above_one_in_all_are_scaled_down(case, factor):
    problem, certificate, best = solved(case)
    cuts = [exact_cut(problem, chosen, certificate.centre) for chosen in chosen_samples(certificate, problem)]
    broken = certificate
    for k, region in enumerate(certificate.regions):
        for i, minorant in enumerate(region.minorants):
            broken = with_minorant(broken, k, i, weights=tuple(factor * v for v in minorant.weights))
    bound = broken.bound_for(problem)
    assert bound <= best
    assert bound == pytest.approx(float(exact_bound(broken, problem, cuts)), rel=1e-9, abs=1e-12)


# -- other problems --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_no_bound_above_the_optimum_of_another_problem(case):
    problem, certificate, _ = solved(case)
    rng = np.random.default_rng(0)
    others = [replace(problem, C=factor * problem.C) for factor in (1e-3, 0.5, 0.999, 2.0, 1e3)]
    others += [replace(problem, y=-problem.y)]
    for i in range(3):
        flipped = problem.y.copy()
        flipped[i] *= -1.0
        others.append(replace(problem, y=flipped))
        others.append(replace(problem, sample_weight=np.where(np.arange(problem.n_samples) == i, 0.0, 1.0)))
    for _ in range(3):
        others.append(replace(problem, X=lift(problem.X[:, 1:] + 0.1 * rng.normal(size=problem.X[:, 1:].shape))))
        others.append(replace(problem, sample_weight=10.0 ** rng.uniform(-3, 3, size=problem.n_samples)))
    if problem.n_samples > 3:
        others.append(MarginProblem(problem.X[1:], problem.y[1:], C=problem.C))
    for other in others:
        assert certificate.bound_for(other) <= best_value(other)


def test_a_certificate_of_another_dimension_or_a_hard_margin_is_refused():
    for case in CASES:
        _, certificate, _ = solved(case)
        for other_case in CASES:
            if other_case[1] != case[1]:
                with pytest.raises(CertificateError, match="dimension"):
                    certificate.bound_for(solved(other_case)[0])
        with pytest.raises(CertificateError, match="hard margin"):
            certificate.bound_for(replace(solved(case)[0], C=np.inf))


def test_explicit_weights_for_another_number_of_samples_are_refused():
    problem, certificate, _ = solved(CASES[1])
    with pytest.raises(CertificateError, match="samples"):
        replace(certificate, duals=np.zeros((1, problem.n_samples + 1))).bound_for(problem)
    with pytest.raises(CertificateError, match="samples"):
        replace(certificate, duals=np.zeros(problem.n_samples)).bound_for(problem)


@pytest.mark.parametrize("case", CASES)
def test_chords_prove_nothing_where_timelike_normals_are_allowed(case):
    problem, certificate, _ = solved(case)
    relaxed = replace(problem, allow_timelike=True)
    if uses_chords(certificate):
        with pytest.raises(CertificateError, match="chord"):
            certificate.bound_for(relaxed)
    else:  # the bound is one for both forms, which is why they share an optimum here
        assert certificate.bound_for(relaxed) == certificate.verify(problem) <= best_value(relaxed)


def test_both_kinds_of_proof_were_tried():
    kinds = [uses_chords(solved(case)[1]) for case in CASES]
    assert any(kinds)
    assert not all(kinds)


# -- arithmetic ------------------------------------------------------------------------------------------------------


def nasty_problem(kind, n, d, seed):
    """Data that loses digits in plain sums: far out, of many magnitudes, or with weights of many magnitudes."""
    rng = np.random.default_rng([seed, n, d])
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = 1.0, -1.0
    direction = rng.normal(size=(n, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius, weight, C = rng.random((n, 1)), None, 1.0
    if kind == "far":
        radius = np.full((n, 1), 12.0)
    elif kind == "mixed":
        radius = rng.uniform(0.0, 12.0, size=(n, 1))
        C = 0.1
    elif kind == "weighted":
        weight = 10.0 ** rng.uniform(-14.0, 14.0, size=n)
        weight[rng.integers(n)] = 0.0
    elif kind == "cancelling":  # each point with both labels: sums of z vanish up to the weights
        direction[1::2], radius[1::2] = direction[0 : n - 1 : 2], radius[0 : n - 1 : 2]
        y[1::2] = -y[0 : n - 1 : 2]
        C = 1e6 / 3.0
    return MarginProblem(lift(np.sinh(radius) * direction), y, C=C, sample_weight=weight)


KINDS = ("plain", "far", "mixed", "weighted", "cancelling")


def chosen_samples(certificate, problem):
    """Which samples each cut takes, by the margins that its docstring speaks of; any choice would be valid."""
    rows = problem.covectors_around(lift(certificate.centre))
    return (fixed_order_product(rows, certificate.points.T) < certificate.threshold).T


def random_cuts(problem, n_cuts, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    points = scale * rng.normal(size=(n_cuts, problem.dim + 1))
    return SoftMarginCertificate(centre=problem.centre[1:], points=points, regions=())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(40, 2), (300, 5)])
def test_long_sums_are_within_their_errors(kind, n, d):
    problem = nasty_problem(kind, n, d, seed=1)
    certificate = random_cuts(problem, 6, seed=2, scale=1e-3 if kind in ("far", "mixed") else 1.0)
    chosen = chosen_samples(certificate, problem)
    assert 0 < chosen.sum() < chosen.size  # cuts that take some samples and leave others
    totals, errors, _ = cut_sums(certificate, problem)
    sizes = 2.0 * problem.centre[0] * problem.X[:, 0] * problem.costs  # of the terms that the boost sums
    for j in range(len(certificate.points)):
        for k, exact in enumerate(exact_cut(problem, chosen[j], certificate.centre)):
            assert abs(exact - Fraction(float(totals[j, k]))) <= Fraction(float(errors[j, k]))
        # Errors that always contain the truth could be infinite; these are some roundings of the largest terms.
        assert np.all(errors[j] <= 1e-14 * (chosen[j] @ sizes) + 1e-299)


def test_sums_over_several_blocks_are_within_their_errors():
    problem = nasty_problem("weighted", 20_001, 1, seed=3)
    certificate = random_cuts(problem, 2, seed=4)
    chosen = chosen_samples(certificate, problem)
    totals, errors, _ = cut_sums(certificate, problem)
    for j in range(2):
        for k, exact in enumerate(exact_cut(problem, chosen[j], certificate.centre)):
            assert abs(exact - Fraction(float(totals[j, k]))) <= Fraction(float(errors[j, k]))


@pytest.mark.parametrize("kind", KINDS)
def test_explicit_weights_are_capped_and_summed_within_their_errors(kind):
    problem = nasty_problem(kind, 40, 2, seed=5)
    rng = np.random.default_rng(6)
    limits = problem.costs / np.sqrt(2.0)
    duals = rng.uniform(-0.5, 1.5, size=(3, 40)) * limits
    centre = problem.centre[1:]
    totals, errors, _ = cut_sums(SoftMarginCertificate(centre, np.zeros((0, 3)), (), duals=duals), problem)
    for j in range(3):
        exact, size = [Fraction(0)] * 4, [Fraction(0)] * 4
        for i in range(40):
            # sqrt2 a_i to more digits than doubles have, capped at c_i
            weight = Fraction(float(duals[j, i])) * Fraction(14142135623730950488016887, 10**25)
            weight = min(max(weight, Fraction(0)), Fraction(float(problem.costs[i])))
            row = framed_row(problem, i, centre)
            exact = [total + weight * v for total, v in zip(exact, row, strict=True)]
            reach = weight * Fraction(float(problem.X[i, 0] * problem.centre[0]))  # what the boost sums
            size = [total + 2 * max(reach, weight) for total in size]
        for k in range(4):
            # The weights that the checker takes are the given ones up to three roundings.
            slack = Fraction(float(errors[j, k])) + 4 * size[k] / 2**53
            assert abs(exact[k] - Fraction(float(totals[j, k]))) <= slack
            assert slack <= size[k] / 10**13


@pytest.mark.parametrize("case", CASES)
def test_the_bound_is_that_of_the_definition_rounded_down(case):
    problem, certificate, _ = solved(case)
    cuts = [exact_cut(problem, chosen, certificate.centre) for chosen in chosen_samples(certificate, problem)]
    exact = exact_bound(certificate, problem, cuts)
    bound = certificate.bound_for(problem)
    assert mp.mpf(bound) <= exact
    assert bound == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_rounded_down_on_nasty_data_too(kind, seed):
    problem = nasty_problem(kind, 12, 2, seed=10 + seed)
    certificate = solve(problem, max_iter=200).certificate
    if np.isfinite(certificate.most_weight):  # larger weights count as that much
        weight = np.minimum(problem.sample_weight, certificate.most_weight)
        problem = MarginProblem(problem.X, problem.y, problem.C, sample_weight=weight)
    cuts = [exact_cut(problem, chosen, certificate.centre) for chosen in chosen_samples(certificate, problem)]
    assert mp.mpf(certificate.bound_for(problem)) <= exact_bound(certificate, problem, cuts)


def test_proofs_on_nasty_data_prove_something():
    bounds = [solve(nasty_problem(kind, 12, 2, seed=10), max_iter=200).lower_bound for kind in KINDS]
    assert sum(bound > 0.0 for bound in bounds) >= 3


def test_boxes_nested_deeper_than_python_recurses_cover_and_one_less_does_not():
    """A tree that halves nothing but its rest: each split is at the next plane."""
    planes = [-1.0, *np.linspace(-0.9, 0.9, 1500).tolist(), 1.0]
    boxes = [([1.0, low], [1.0, high]) for low, high in pairwise(planes)]
    assert soft_margin._covered([1.0, -1.0], [1.0, 1.0], boxes)
    assert not soft_margin._covered([1.0, -1.0], [1.0, 1.0], boxes[:700] + boxes[701:])
