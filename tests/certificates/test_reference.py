"""The reference checker: it accepts what is true, refuses what is forged, and nothing faster accepts more than it."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from certificates.mutants import KINDS, ROUNDING, compare, plain, points, solved
from hypermargin import Box, CrossPolytope, Ellipsoid, GeodesicBall, HyperbolicSVC, MarginProblem, Status, solve
from hypermargin.certificates import Certificate, reference
from hypermargin.certificates.by_reference import exact_problem as exact
from hypermargin.certificates.reference import Refused, check
from hypermargin.check import main
from hypermargin.datasets import load_karate
from hypermargin.geometry import lift
from hypermargin.kernels import KERNELS
from hypermargin.problems.curve import CurveProblem
from hypermargin.problems.kernel import KernelProblem
from hypermargin.solvers.curve import solve_curve
from hypermargin.solvers.kernel.method import solve_kernel

#: Mutants of a certificate, and certificates of a test, of which each kind has two (`make fuzz`: 100,000 mutants).
MUTANTS, CERTIFICATES = 50, 5


def agree(fast, reference, size):
    return fast == reference or abs(fast - reference) <= ROUNDING * size


@pytest.mark.parametrize("kind", KINDS)
def test_it_proves_what_the_fast_check_proves_and_no_more_than_is_true(kind):
    found = 0
    for seed in range(4):
        problem, solution = solved(kind, seed)
        if solution.certificate is None or solution.status not in (Status.OPTIMAL, Status.INFEASIBLE):
            continue
        found += 1
        bound = check(plain(solution.certificate), exact(problem))
        assert agree(solution.certificate.verify(problem), bound, abs(solution.objective))
        assert bound <= solution.objective * (1.0 + 1e-12) or solution.status is Status.INFEASIBLE
    assert found >= 2


@pytest.mark.parametrize("first", [0, CERTIFICATES])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_fast_check_accepts_of_mutants_it_accepts_too_and_neither_accepts_what_is_false(kind, first):
    accepted = 0
    for seed in range(first, first + CERTIFICATES):
        endings, wrong = compare(kind, seed, MUTANTS)
        assert not wrong
        accepted += endings["accepted"]
    assert accepted >= 5  # many changes harm nothing: a bound that is proved elsewhere, a copy of a cut


def test_a_threshold_that_makes_all_samples_of_a_set_count_proves_no_more():
    """For thresholds above 1 cuts at +-(1, 0, ..., 0) may hold samples of both classes."""
    for noise in (GeodesicBall(0.05), Box(0.05), CrossPolytope(0.05), Ellipsoid(np.eye(2), 0.05)):
        X, y = points(3, 8)
        problem = MarginProblem(X, y, 0.01, uncertainty=noise)
        solution = solve(problem, "exact")
        for threshold in (2.99, 6.0, 10.9):
            forged = {**plain(solution.certificate), "threshold": threshold}
            assert check(forged, exact(problem)) <= solution.objective


def test_no_price_below_nothing_empties_a_half_of_space():
    problem, solution = solved("moment", 0)
    forged = plain(solution.certificate)
    empty = [[half, 0, 0, -1.0, [0.0] * problem.n_samples] for half in (-1, 1)]
    forged["extents"] = [*forged["extents"], *empty]
    with pytest.raises(Refused):
        check(forged, exact(problem))


@pytest.mark.parametrize("d", [20, 33])
def test_heat_kernels_of_many_dimensions_and_points_next_to_each_other(d):
    X, y = points(1, 12, d)
    problem = KernelProblem(X, y, KERNELS["heat"](), 1.0)
    solution = solve_kernel(problem)
    assert agree(solution.lower_bound, check(plain(solution.certificate), exact(problem)), solution.objective)
    space = 1e-120 * X[:, 1:]
    close = KernelProblem(np.column_stack([np.ones(12), space]), y, KERNELS["heat"](), 1.0)
    bound = check(plain(solve_kernel(close).certificate), exact(close))
    counts = np.bincount((y > 0).astype(int))
    # All kernel values are 1 to 1e-200: the optimum is that of a constant, two for each sample of the smaller class.
    assert bound == pytest.approx(2.0 * counts.min(), rel=1e-6)


def test_deep_covers_and_foreign_files_end_in_a_sentence():
    problem, solution = solved("plain", 0)
    natural = plain(solution.certificate)
    edges = np.linspace(-1.0, 1.0, 400).tolist()
    strips = [[axis, side, low, high] for axis in (0, 1) for side in (-1, 1) for low, high in pairwise(edges)]
    region = natural["regions"][0]
    boxes = []
    for axis, side, low, high in strips:
        corners = [[float(side), low], [float(side), high]] if axis == 0 else [[low, float(side)], [high, float(side)]]
        boxes.append({**region, "box": [axis, side, *corners]})
    covered = {**natural, "regions": [*boxes, *(r for r in natural["regions"] if r["sign"] != region["sign"])]}
    assert check(covered, exact(problem)) == check(natural, exact(problem))
    assert agree(Certificate.from_dict(covered).bound_for(problem), check(natural, exact(problem)), solution.objective)
    del covered["regions"][700]
    with pytest.raises(Refused, match="do not cover all directions"):
        check(covered, exact(problem))
    for foreign in ({}, [], None, {"format": "hypermargin-certificate-1"}, {"format": ["x"]}):
        with pytest.raises(Refused):
            check(foreign, exact(problem))


def test_one_file_checks_a_proof_where_nothing_but_flint_is_installed(tmp_path, capsys):
    data = load_karate()
    model = HyperbolicSVC().fit(data.X, data.y)
    proof, table, program = tmp_path / "proof.json", tmp_path / "points.csv", tmp_path / "check.pyz"
    model.solutions_[0].certificate.save(proof)
    rows = [",".join([*map(repr, map(float, x)), str(label)]) for x, label in zip(data.X, data.y, strict=True)]
    table.write_text("x0,x1,x2,club\n" + "\n".join(rows) + "\n")
    assert main([str(proof), str(table)]) == 0
    assert f"lower bound  {model.solutions_[0].lower_bound:.6f}"[:-1] in capsys.readouterr().out
    assert main(["--copy", str(program)]) == 0
    blocked = "import sys; sys.modules['numpy'] = sys.modules['hypermargin'] = None; import runpy; "
    run = f"{blocked}sys.argv = {['check.pyz', str(proof), str(table)]!r}; runpy.run_path({str(program)!r})"
    done = subprocess.run([sys.executable, "-I", "-c", run], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "holds for" in done.stdout
    table.write_text(table.read_text().replace("0\n", "1\n", 3))
    assert main([str(proof), str(table)]) != 0


@pytest.mark.parametrize("radius", [0.01, 11.0])
def test_points_that_coincide_leave_a_length_of_zero_and_the_bound_is_proved(radius):
    """The sum of the points is then a ball around 0, whose power is NaN in python-flint 0.9 and its product is not."""
    X = lift(np.full((3, 2), np.sinh(radius) / np.sqrt(2.0)))
    problem = CurveProblem(MarginProblem(X, [1.0, -1.0, -1.0], 0.42))
    solution = solve_curve(problem)
    assert solution.objective == pytest.approx(2 * 0.42 / np.sqrt(2.0), rel=1e-6)  # b = -1 pays for one sample alone
    assert check(plain(solution.certificate), exact(problem)) == pytest.approx(solution.objective, rel=1e-6)
    assert solution.certificate.verify(problem, by_arb=True) <= solution.objective


def test_it_is_short_enough_to_be_read_as_the_page_says():
    modules = Path(reference.__file__).parent.glob("*.py")
    assert 500 < sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules) <= 1150
