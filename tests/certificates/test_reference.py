"""The reference checker: it accepts what is true, refuses what is forged, and nothing faster accepts more than it."""

import json
import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from certificates.mutants import mutant
from hypermargin import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, HyperbolicSVC, MarginProblem, Status, solve
from hypermargin.certificates import Certificate, CertificateError
from hypermargin.certificates.reference import Malformed, Problem, Refused, check
from hypermargin.certificates.reference.files import main
from hypermargin.datasets import load_karate
from hypermargin.kernels import KERNELS
from hypermargin.problems.curve import CurveProblem
from hypermargin.problems.kernel import KernelProblem
from hypermargin.solvers.curve import solve_curve
from hypermargin.solvers.kernel.method import solve_kernel

SETS = {
    "GeodesicBall": GeodesicBall(0.2),
    "Box": Box(0.1),
    "CrossPolytope": CrossPolytope(0.2),
    "Ball": Ball(0.15),
    "Ellipsoid": Ellipsoid([[0.3, 0.1], [0.0, 0.2]], 0.7),
}
#: Relative to the objective: what bounds of doubles and of Arb may differ by.
ROUNDING = 1e-9


def points(seed, n=7, d=2, noise=0.6):
    rng = np.random.default_rng(seed)
    space = rng.normal(size=(n, d)) * np.exp(rng.uniform(-1.0, 1.0))
    y = np.where(space[:, 0] + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return np.column_stack([np.sqrt(1.0 + np.sum(space**2, axis=1)), space]), y


def plain(certificate):
    return json.loads(json.dumps(certificate.to_dict()))


def exact(problem):
    """The problem in the form of the reference checker."""
    margin = getattr(problem, "margin", problem)
    space = problem.space if isinstance(problem, KernelProblem) else margin.X[:, 1:]
    noise, weight = getattr(margin, "uncertainty", None), margin.sample_weight
    described = None
    if noise is not None:
        described = {"set": type(noise).__name__, "rho": np.broadcast_to(noise.rho, margin.y.shape).tolist()}
        described |= {"shape": noise.shape.tolist()} if isinstance(noise, Ellipsoid) else {}
    return Problem(
        space.tolist(),
        [int(label) for label in margin.y],
        float(margin.C),
        None if weight is None else weight.tolist(),
        described,
        getattr(margin, "allow_timelike", False),
        problem.centre.tolist() if isinstance(problem, CurveProblem) else None,
    )


def solved(kind, seed):
    """A problem of that kind and its solution."""
    rng = np.random.default_rng(seed)
    C, (X, y) = float(10.0 ** rng.uniform(-1, 1)), points(seed)
    weight = rng.exponential(size=len(y)) if seed % 2 else None
    if kind in KERNELS:
        problem = KernelProblem(X, y, KERNELS[kind](), C, sample_weight=weight)
        return problem, solve_kernel(problem)
    if kind == "curve":
        problem = CurveProblem(MarginProblem(X, y, C, sample_weight=weight))
        return problem, solve_curve(problem)
    if kind == "asinh":
        problem = MarginProblem(*points(seed, 6, 1 + seed % 2), C)
        return problem, solve(problem, "exact", loss="asinh", tol=1e-2, max_iter=500)
    if kind == "moment":
        problem = MarginProblem(*points(seed, 5, 1 + seed % 2), C)
        return problem, solve(problem, "moment")
    if kind.startswith("hard"):
        problem = MarginProblem(*points(seed, noise=0.0), math.inf)
    elif kind.startswith("overlap"):
        X, y = points(seed, 12, noise=9.0)
        problem = MarginProblem(X, y, math.inf)
    else:
        problem = MarginProblem(X, y, C, sample_weight=weight, allow_timelike=kind == "timelike")
    name = kind.split()[-1]
    if name in SETS:
        noise = GeodesicBall(0.02) if kind.startswith("hard") else SETS[name]
        problem = MarginProblem(problem.X, problem.y, problem.C, problem.sample_weight, noise)
    return problem, solve(problem, "exact")


KINDS = [
    "plain",
    "timelike",
    *SETS,
    "hard",
    "hard GeodesicBall",
    "overlap",
    "overlap GeodesicBall",
    "overlap Box",
    *KERNELS,
    "curve",
    "asinh",
    "moment",
]


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


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_fast_check_accepts_of_mutants_it_accepts_too_and_neither_accepts_what_is_false(kind):
    problem, solution = next((p, s) for p, s in (solved(kind, seed) for seed in range(9)) if s.status.is_proved)
    natural, data, rng = plain(solution.certificate), exact(problem), np.random.default_rng(0)
    size, accepted = abs(solution.objective) if np.isfinite(solution.objective) else 1.0, 0
    for _ in range(500 if kind in ("plain", "timelike", "hard", "overlap", "heat", "curve") else 100):
        changed = mutant(natural, rng)
        try:
            reference = check(changed, data)
        except Malformed:  # the fast check takes text that reads as a number for one
            continue
        except Refused:
            reference = -math.inf
        assert reference <= solution.objective * (1.0 + 1e-12) or solution.status is Status.INFEASIBLE
        try:
            with np.errstate(all="ignore"):
                fast = Certificate.from_dict(changed).bound_for(problem)
        except CertificateError:
            continue
        accepted += 1
        assert fast <= solution.objective * (1.0 + 1e-12) or solution.status is Status.INFEASIBLE
        if kind != "asinh":  # there changed points of a leaf may suggest slopes in one way here and in another there
            assert fast <= max(reference, 0.0) + ROUNDING * size
    assert accepted >= 10  # many changes harm nothing: a bound that is proved elsewhere, a copy of a cut


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
    edges = np.linspace(-1.0, 1.0, 1500).tolist()
    strips = [[axis, side, low, high] for axis in (0, 1) for side in (-1, 1) for low, high in pairwise(edges)]
    region = natural["regions"][0]
    boxes = []
    for axis, side, low, high in strips:
        corners = [[float(side), low], [float(side), high]] if axis == 0 else [[low, float(side)], [high, float(side)]]
        boxes.append({**region, "box": [axis, side, *corners]})
    covered = {**natural, "regions": [*boxes, *(r for r in natural["regions"] if r["sign"] != region["sign"])]}
    assert check(covered, exact(problem)) == check(natural, exact(problem))
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
