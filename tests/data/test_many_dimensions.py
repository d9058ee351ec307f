"""Many dimensions in other homes: few reads of the data, the optimum of the arrays, and proofs that hold everywhere."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hypermargin import Certificate, GeodesicBall, HyperbolicSVC, MarginProblem, Status, solve, solve_path
from hypermargin.certificates import CertificateError
from hypermargin.certificates.core.sums import cut_sums
from hypermargin.certificates.fingerprints import sample_names
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.compiled import hashes
from hypermargin.data.device import DeviceSamples
from hypermargin.data.executors import InMemory, OutOfCore
from hypermargin.data.readers import ArrayChunks
from hypermargin.geometry.isometries import random_isometry, transform_points
from hypermargin.geometry.lorentz import lift
from hypermargin.solvers.exact import working_sets
from interpreted import load_source, put_in_place


def overlapping(d, n, seed=0, share=0.5, separation=0.6, **options):
    """Two Gaussians around +-e_1 in the tangent space, `share` of the samples in the first, moved and shuffled."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.permutation(n) < share * n, 1.0, -1.0)
    tangent = 0.8 / np.sqrt(d) * rng.standard_normal((n, d))
    tangent[:, 0] += separation * y / np.sqrt(d)
    radii = np.linalg.norm(tangent, axis=1, keepdims=True)
    X = transform_points(lift(np.sinh(radii) / radii * tangent), random_isometry(d, 1.0, rng))
    return MarginProblem(X, y, **options)


def piece(problem, rows):
    weight = problem.sample_weight
    return MarginProblem.unchecked(problem.X[rows], problem.y[rows], 1.0, None if weight is None else weight[rows])


class Reads(OutOfCore):
    """Unequal pieces, one of a single class and one without samples; counts how often they are read."""

    def __init__(self, source, changes=(), count=None):
        super().__init__(source, changes)
        self.count = [] if count is None else count

    def _blocks(self):
        self.count.append(1)
        return super()._blocks()

    def map(self, change, *arguments):
        return Reads(self.source, (*self.changes, (change, arguments)), self.count)


def in_pieces(problem, **options):
    n = problem.n_samples
    one_class = np.flatnonzero(problem.y > 0.0)[: n // 10]
    rest = np.setdiff1d(np.arange(n), one_class)
    parts = [one_class, rest[:0], rest[: n // 4], rest[n // 4 :]]
    return BlockedProblem(Reads([piece(problem, rows) for rows in parts]), problem.C, **options)


CASES = {
    "balanced": dict(d=16, n=3000),
    "few samples": dict(d=20, n=300),
    "imbalanced": dict(d=16, n=4000, share=0.04, separation=2.0),
    "large C": dict(d=12, n=3000, C=1e3),
    "small C": dict(d=32, n=3000, C=0.01),
    "separable": dict(d=24, n=60, separation=8.0, C=1e4),
    "weights": dict(d=10, n=3000, sample_weight=np.random.default_rng(0).choice([0.0, 0.5, 3.0], 3000)),
}


@pytest.mark.parametrize("name", CASES)
def test_few_reads_prove_the_optimum_of_plain_cuts_in_memory(name):
    problem = overlapping(**CASES[name], seed=1)
    spread = in_pieces(problem)
    reference, solution = solve(problem, cuts="plain"), solve(spread)
    assert solution.status is reference.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(reference.objective, rel=2e-6)
    assert solution.lower_bound <= reference.objective
    assert reference.lower_bound <= solution.objective
    assert solution.certificate.shared
    if name != "separable":
        assert len(spread.source.count) <= 40
    assert solution.certificate.verify(problem) == pytest.approx(solution.lower_bound, rel=1e-9)


def test_timelike_normals_and_paths():
    problem = overlapping(12, 3000, seed=2)
    for C, solution in zip((0.1, 10.0), solve_path(in_pieces(problem), (0.1, 10.0)), strict=True):
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(solve(problem.with_C(C), cuts="plain").objective, rel=2e-6)
    free = solve(in_pieces(problem, allow_timelike=True))
    plain = solve(problem.with_timelike(True), cuts="plain")
    assert free.status is plain.status is Status.OPTIMAL
    assert free.objective == pytest.approx(plain.objective, rel=2e-6)


def test_equal_samples_in_different_pieces_share_a_name_and_a_weight():
    half = overlapping(10, 1500, seed=3)
    problem = MarginProblem(np.vstack([half.X, half.X]), np.concatenate([half.y, half.y]))
    solution, reference = solve(in_pieces(problem)), solve(half.with_C(2.0), cuts="plain")
    assert solution.status is reference.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(reference.objective, rel=2e-6)
    names = sample_names(problem)
    np.testing.assert_array_equal(names[:1500], names[1500:])
    assert np.unique(names).size == 1500


@pytest.mark.parametrize("free", [1e4, 1e6, 2e6, 4e6])
def test_without_room_for_a_working_set_plain_cuts_do_it(monkeypatch, free):
    """With hardly any room, or with room for some sets and not for others, or for what has turned."""
    problem = overlapping(10, 2000, seed=4)
    monkeypatch.setattr(working_sets, "free_memory", lambda: free)
    gathered, together = [], working_sets.Selection.together
    monkeypatch.setattr(
        working_sets.Selection,
        "together",
        lambda parts: gathered.append(sum(p.costs.size for p in parts)) or together(parts),
    )
    spread = in_pieces(problem)
    solution = solve(spread)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(solve(problem).objective, rel=2e-6)
    room = 0.2 * free / (8 * 11 * 4)
    assert all(size <= 1.2 * room for size in gathered)
    assert bool(solution.certificate.shared) is (len(spread.source.count) < 40)


def test_classes_in_step_from_chunks():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 3000)
    tangent = 0.3 * rng.standard_normal((3000, 12)) + 0.25 * np.eye(12)[y]
    radii = np.linalg.norm(tangent, axis=1, keepdims=True)
    X = lift(np.sinh(radii) / radii * tangent)
    for scheme in ("ovr", "ovo"):
        whole = HyperbolicSVC(multi_class=scheme).fit(X, y)
        model = HyperbolicSVC(multi_class=scheme).fit(ArrayChunks(X, rows=700), y)
        assert all(solution.is_proved for solution in model.solutions_)
        for one, other in zip(model.solutions_, whole.solutions_, strict=True):
            assert one.objective == pytest.approx(other.objective, rel=2e-6)
        assert np.mean(model.predict(ArrayChunks(X, rows=700)) == whole.predict(X)) > 0.999


# -- certificates with names -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def proved():
    weight = np.random.default_rng(6).uniform(0.5, 2.0, 2000)
    problem = overlapping(12, 2000, seed=6, sample_weight=weight)
    return problem, solve(in_pieces(problem))


def devices(problem):
    X, y, weight = problem.X, problem.y.astype(np.int8), problem.sample_weight
    yield "array API", DeviceSamples(X[:, 1:], y, 1.0, weight)
    try:
        import torch
    except ImportError:
        return
    yield "torch", DeviceSamples(torch.tensor(X)[:, 1:], torch.tensor(y), 1.0, torch.tensor(weight))


def test_a_proof_holds_in_every_home_and_order(proved, tmp_path):
    problem, solution = proved
    certificate = solution.certificate
    assert all(cut.named for cut in certificate.shared)
    certificate.save(tmp_path / "proof.json")
    copy = Certificate.load(tmp_path / "proof.json")
    order = np.random.default_rng(0).permutation(problem.n_samples)
    shuffled = MarginProblem(problem.X[order], problem.y[order], sample_weight=problem.sample_weight[order])
    for other in (problem, shuffled, in_pieces(problem), in_pieces(shuffled)):
        assert copy.verify(other) == pytest.approx(solution.lower_bound, rel=1e-10)
    for name, samples in devices(problem):
        bound = copy.verify(BlockedProblem(InMemory([samples]), problem.C))
        assert bound == pytest.approx(solution.lower_bound, rel=1e-9), name


def test_named_cuts_are_those_of_rows_and_of_explicit_weights(proved):
    """The same sums where every name is looked up by hand, and where every weight is written out."""
    problem, solution = proved
    proof = replace(solution.certificate, statement=None)
    rows = {name: row for row, name in enumerate(sample_names(problem).tolist())}
    assert len(rows) == problem.n_samples

    def by_row(cut):
        found = np.array([rows[name] for name in cut.samples.tolist()])
        return replace(cut, samples=np.sort(found), shares=cut.shares[np.argsort(found)], named=False)

    looked_up = replace(proof, shared=tuple(map(by_row, proof.shared)))
    assert looked_up.bound_for(problem) == proof.bound_for(problem)
    Z, duals = problem.covectors_around(lift(proof.centre)), []
    for cut in looked_up.shared:
        share = (Z @ proof.points[cut.point] < proof.threshold).astype(float)
        share[cut.samples] = cut.shares
        duals.append(share * problem.costs / np.sqrt(2.0) * (1.0 - 1e-15))
    written_out = replace(proof, shared=(), duals=np.array(duals))
    assert written_out.bound_for(problem) == pytest.approx(solution.lower_bound, rel=1e-9)
    pieces = cut_sums(proof, in_pieces(problem))
    whole = cut_sums(looked_up, problem)
    assert np.all(np.abs(pieces.totals - whole.totals) <= pieces.errors + whole.errors)
    assert np.all(pieces.errors <= 1e-10 * np.abs(whole.totals).max())


def test_names_are_the_same_with_and_without_a_compiler(proved, monkeypatch):
    names = sample_names(proved[0])
    (interpreted,) = load_source(hashes)
    assert put_in_place(monkeypatch, {hashes: interpreted})
    np.testing.assert_array_equal(sample_names(proved[0]), names)


def test_other_shares_and_names_never_prove_too_much(proved):
    """Weights between 0 and k_i are valid whoever has them; a name that nobody has does nothing."""
    problem, solution = proved
    rng, proof = np.random.default_rng(0), replace(solution.certificate, statement=None)
    names = np.sort(sample_names(problem))
    for _ in range(5):
        shared = []
        for cut in proof.shared:
            chosen = np.unique(np.concatenate([rng.choice(names, 50), rng.integers(-(2**63), 2**63 - 1, 50)]))
            shared.append(replace(cut, samples=chosen, shares=rng.random(chosen.size)))
        damaged = replace(proof, shared=tuple(shared))
        for other in (problem, in_pieces(problem)):
            assert damaged.bound_for(other) <= solution.objective


def test_damaged_names_are_told(proved):
    problem, solution = proved
    proof = solution.certificate
    cut = proof.shared[0]
    for damaged in (
        replace(cut, samples=cut.samples[::-1].copy()),
        replace(cut, shares=cut.shares + 1.0),
        replace(cut, shares=np.full_like(cut.shares, np.nan)),
        replace(cut, samples=cut.samples[:-1]),
        replace(cut, named=False),
    ):
        for other in (problem, in_pieces(problem)):
            with pytest.raises(CertificateError):
                replace(proof, shared=(damaged, *proof.shared[1:])).verify(other)
    text = json.dumps(proof.to_dict())
    name = f"{int(cut.samples[0]) % 2**64:016x}"
    for wrong in ('"no name"', '"1ffffffffffffffff"', "7", "null", '"-1"'):
        with pytest.raises(CertificateError):
            Certificate.from_dict(json.loads(text.replace(f'"{name}"', wrong))).verify(problem)


# -- where it pays -----------------------------------------------------------------------------------------------------


def test_many_samples_of_the_plane_are_read_few_times_where_every_pass_reads_them_anew():
    problem = overlapping(2, 120_000, seed=7)
    read_anew, kept = in_pieces(problem), BlockedProblem(InMemory([piece(problem, slice(None))]), 1.0)
    solution, plain = solve(read_anew), solve(kept)
    assert solution.status is plain.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(plain.objective, rel=2e-6)
    assert len(read_anew.source.count) <= 20 < plain.info["passes"]


def test_balls_and_devices_have_plain_cuts():
    problem = overlapping(10, 400, seed=8)
    (_, samples), *_ = devices(replace(problem, sample_weight=np.ones(400)))
    on_device = solve(BlockedProblem(InMemory([samples]), 1.0), cuts="deep")
    assert on_device.status is Status.OPTIMAL
    assert not on_device.certificate.shared
    ball = GeodesicBall(0.05)
    robust = MarginProblem.unchecked(problem.X, problem.y, 1.0, None, ball)
    assert not solve(BlockedProblem(InMemory([robust]), 1.0, ball), time_limit=3.0).certificate.shared
