"""Asinh certificates: the arithmetic against Arb, the files, and that damage is noticed or does no harm."""

import copy
import json
from math import asinh

import numpy as np
import pytest
from flint import arb

from hypermargin import Certificate, MarginProblem, solve
from hypermargin.arithmetic import in_arb
from hypermargin.certificates import AsinhCertificate, CertificateError
from hypermargin.certificates.asinh.certificate import OPERATIONS
from hypermargin.certificates.asinh.compiled.losses import BoxLosses, asinh_near, least_offset, loss_below
from hypermargin.certificates.asinh.proof import Frame
from hypermargin.geometry.isometries import boost
from hypermargin.geometry.lorentz import covector, lift
from reference.asinh_judges import best_by_random_search


@pytest.fixture(scope="module")
def solved():
    rng = np.random.default_rng(3)
    y = np.where(np.arange(14) % 2, 1.0, -1.0)
    V = rng.normal(size=(14, 2))
    V[:, 0] += 0.5 * y
    problem = MarginProblem(lift(V), y, C=2.0)
    return problem, solve(problem, "exact", loss="asinh", tol=1e-2)


def test_asinh_is_as_close_as_it_says():
    rng = np.random.default_rng(0)
    values = np.r_[rng.normal(size=3000) * 10.0 ** rng.uniform(-18, 18, size=3000), 0.0, 1.0, -1.0, 1e200, -1e200]
    for x in values.tolist():
        exact = arb(x).asinh()
        error = abs(arb(asinh_near(x)) - exact)
        assert error < 2.0**-49 * (1 + abs(exact))
        assert loss_below(x) == 0.0 or arb(loss_below(x)) < arb(1).asinh() - exact


def test_offsets_are_below_the_loss_and_touch_it():
    rng = np.random.default_rng(1)
    for _ in range(500):
        left, right = np.sort(rng.normal(size=2) * 10.0 ** rng.uniform(-2, 2))
        slope = -rng.random()
        offset = least_offset(slope, left, right)
        m = np.linspace(left, right, 2001)
        least = float((np.maximum(0.0, asinh(1.0) - np.arcsinh(m)) - slope * m).min())
        assert offset <= least + 1e-12
        assert offset >= least - 1e-4 * (1.0 + right - left)


@pytest.mark.parametrize("radius", [0.0, 4.0, 9.0])
def test_sums_on_a_box_are_below_the_losses_of_exact_points(radius):
    """Far out points cancel in the frame: what rounding them changes is charged. The losses touch their bounds at w."""
    rng = np.random.default_rng(4)
    centre = np.array([np.cosh(radius), np.sinh(radius), 0.0])
    X = lift((lift(rng.normal(size=(20, 2))) @ boost(centre).T)[:, 1:])
    problem = MarginProblem(X, np.resize([1.0, -1.0], 20))
    frame = Frame(covector(boost(centre).T).T)
    Z, doubt = frame.samples(problem)
    with in_arb():
        starts, everything = np.full(20, -1e300), np.arange(20, dtype=np.intc)
        losses = BoxLosses(Z, np.ones(20), doubt, starts, np.ones(2))
        for trial in range(40):
            w, side = rng.normal(size=3), np.full(3, 10.0 ** rng.uniform(-12, 0))
            settled = (0.0, 1e-3)[trial % 2]
            sums = np.zeros(14)
            assert losses.settle(w, side, everything, settled, sums, False)
            losses.add_minorants(w[None, :], np.ones(1), sums)
            for corner in (0.0, *rng.uniform(-1.0, 1.0, size=(5, 3))):
                at = (w + corner * side).tolist()
                image = [sum(arb(f) * v for f, v in zip(row, at, strict=True)) for row in frame.matrix.tolist()]
                risk = arb(0)
                for label, (_, *space) in zip(problem.y.tolist(), X.tolist(), strict=True):
                    time = (1 + sum(arb(v) ** 2 for v in space)).sqrt()
                    margin = label * (time * image[0] + sum(v * f for v, f in zip(space, image[1:], strict=True)))
                    risk += (arb(1).asinh() - margin.asinh()).max(arb(0))
                terms = [sums[1], *(sums[2 + j] * arb(at[j]) for j in range(3))]
                terms += [0.5 * sums[5 + 3 * i + j] * arb(at[i]) * at[j] for i in range(3) for j in range(3)]
                assert sum(terms, arb(0)) - (20 + OPERATIONS) * 2.0**-53 * sums[0] < risk


def test_arb_agrees(solved):
    problem, solution = solved
    compiled = solution.certificate.verify(problem)
    assert solution.certificate.verify(problem, by_arb=True) == pytest.approx(compiled, rel=1e-9)


def test_files_keep_everything(solved, tmp_path):
    problem, solution = solved
    solution.certificate.save(tmp_path / "proof.json")
    loaded = Certificate.load(tmp_path / "proof.json")
    assert isinstance(loaded, AsinhCertificate)
    assert loaded.verify(problem) == solution.certificate.verify(problem) == solution.lower_bound
    assert loaded.statement.loss == "asinh"
    content = json.loads((tmp_path / "proof.json").read_text())
    del content["whole_intervals"]  # files of old have no such entry, and are checked as they were made
    assert not Certificate.from_dict(content).whole_intervals


def test_it_is_for_its_own_problem_and_loss(solved):
    problem, solution = solved
    with pytest.raises(CertificateError, match="another problem"):
        solution.certificate.verify(problem.with_C(5.0))
    other = problem.with_C(0.5)
    rng = np.random.default_rng(0)
    bound = solution.certificate.bound_for(other)
    assert bound <= best_by_random_search(other.X, other.y, other.costs, rng)
    data = solve(problem).certificate.to_dict()
    data["statement"]["loss"] = "asinh"
    mislabelled = Certificate.from_dict(data)
    with pytest.raises(CertificateError, match="asinh loss"):
        mislabelled.verify(problem)


def damages(rng, content):
    """A copy of a certificate's content with one thing changed at random."""
    damaged = copy.deepcopy(content)
    kind = rng.integers(8)
    leaf = damaged["leaves"][rng.integers(len(damaged["leaves"]))]
    if kind == 0:
        damaged["tree"][rng.integers(len(damaged["tree"]))] = int(rng.integers(-2, 4))
    elif kind == 1:
        del damaged["tree"][rng.integers(len(damaged["tree"]))]
    elif kind == 2:
        leaf[0] = float(rng.choice([2.0, 1.0, 0.0, -3.0, -1e9]))
    elif kind == 3:
        damaged["cutoff"] *= float(rng.choice([1.2, 2.0, 100.0]))
    elif kind == 4:
        damaged["half_side"] *= float(rng.choice([0.25, 0.5, 3.0]))
    elif kind == 5:
        face = damaged["directions"][rng.integers(len(damaged["directions"]))]
        face[rng.integers(len(face))] = -1
    elif kind == 6:
        leaf[3] = (np.array(leaf[3]) + rng.integers(-9000, 9000, size=len(leaf[3]))).tolist()
    else:
        leaf[2] = [float(v) for v in np.array(leaf[2]) * rng.choice([0.0, 3.0, 1e6])]
    return damaged


def test_damage_is_noticed_or_harmless(solved):
    problem, solution = solved
    rng = np.random.default_rng(2)
    content = json.loads(json.dumps(solution.certificate.to_dict()))
    del content["statement"]
    least = solution.objective
    refused = weaker = 0
    for _ in range(160):
        try:
            bound = Certificate.from_dict(damages(rng, content)).bound_for(problem)
        except CertificateError:
            refused += 1
            continue
        assert bound <= least * (1.0 + 1e-12)
        weaker += bound < solution.lower_bound
    assert refused > 20
    assert weaker > 20


def test_what_it_is_not_for_is_refused(solved):
    problem, solution = solved
    with pytest.raises(CertificateError, match="soft-margin"):
        solution.certificate.bound_for(problem.with_C(np.inf))
    line = MarginProblem(lift(np.array([[1.0], [-1.0]])), np.array([1.0, -1.0]))
    with pytest.raises(CertificateError, match="dimension 1"):
        solution.certificate.bound_for(line)
