"""A fit that was interrupted takes up where it stopped, and gives the same answer."""

import json

import numpy as np
import pytest

from hypermargin import GeodesicBall, HyperbolicSVC, MarginProblem, solve
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.executors import InMemory
from hypermargin.data.readers import ArrayChunks
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry.lorentz import lift
from hypermargin.problems.linearised import Ellipsoid
from hypermargin.safe_io import FileError
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.journal import Journal
from hypermargin.solvers.exact.oracle import oracle_in_memory


class Interrupted(Exception):
    """Somebody pulled the plug."""


class Fragile(InMemory):
    """A home that counts its questions, and fails at one of them."""

    asked, fails_at = 0, None

    def map_blocks(self, function, *arguments):
        Fragile.asked += 1
        if Fragile.asked == Fragile.fails_at:
            raise Interrupted
        return super().map_blocks(function, *arguments)

    def map(self, change, *arguments):
        return Fragile([change(piece, *arguments) for piece in self.blocks])


@pytest.fixture
def problem():
    X, y = make_gaussian_mixture(100, 2, scale=0.9, random_state=0, return_X_y=True)
    pieces = [MarginProblem(X[k::2], 2.0 * y[k::2] - 1.0) for k in range(2)]
    Fragile.asked, Fragile.fails_at = 0, None
    return BlockedProblem(Fragile(pieces), 3.0)


def test_an_interrupted_fit_resumes(problem, tmp_path):
    path = str(tmp_path / "passes.journal")
    Fragile.asked = 0
    whole = solve(problem)
    needed = Fragile.asked
    Fragile.asked, Fragile.fails_at = 0, 25
    with pytest.raises(Interrupted):
        solve(problem, checkpoint=path)
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"problem": "cut off')
    Fragile.asked, Fragile.fails_at = 0, None
    resumed = solve(problem, checkpoint=path)
    assert Fragile.asked < needed - 15  # only what was missing is asked of the data
    assert resumed.objective == whole.objective
    np.testing.assert_array_equal(resumed.w, whole.w)
    Fragile.asked = 0
    again = solve(problem, checkpoint=path)
    assert Fragile.asked <= 6  # the first three cuts, the fingerprints, the check and the objective
    assert again.lower_bound == whole.lower_bound


def test_a_journal_is_for_one_problem_and_other_problems_may_share_the_file(problem, tmp_path):
    path = str(tmp_path / "passes.journal")
    solve(problem, checkpoint=path)
    other = solve(problem.with_C(1.0), checkpoint=path)
    assert other.objective == solve(problem.with_C(1.0)).objective
    assert solve(problem, checkpoint=path).objective == solve(problem).objective


def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(problem, tmp_path):
    proof, arrays, letter, lines = (tmp_path / name for name in ("proof.json", "points.npy", "letter.txt", "log.jsonl"))
    solve(problem).certificate.save(proof)
    np.save(arrays, np.ones(3))
    letter.write_text("Dear reader,", encoding="utf-8")
    lines.write_text('{"format": "other"}\n{}\n', encoding="utf-8")
    for path in (proof, arrays, letter, lines):
        before = path.read_bytes()
        with pytest.raises(FileError, match=f"{path.name} is not a journal of passes; name a new file as checkpoint"):
            solve(problem, checkpoint=str(path))
        assert path.read_bytes() == before


@pytest.mark.parametrize("key", ["w", "cut"])
@pytest.mark.parametrize("change", [lambda numbers: numbers[:-1], lambda numbers: [*numbers, "0x0.0p+0"]])
def test_passes_of_another_dimension_are_refused(problem, tmp_path, key, change):
    path = tmp_path / "passes.journal"
    solve(problem, checkpoint=str(path))
    header, *passes = path.read_text(encoding="utf-8").splitlines()
    entry = json.loads(passes[3])
    entry[key] = change(entry[key])
    path.write_text("\n".join([header, *passes[:3], json.dumps(entry), *passes[4:]]) + "\n", encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(FileError, match="line 5 is not a pass in dimension 2"):
        solve(problem, checkpoint=str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_passes_that_are_no_numbers_are_refused(problem, tmp_path, number):
    path = tmp_path / "passes.journal"
    solve(problem, checkpoint=str(path))
    lines = path.read_text(encoding="utf-8").splitlines()
    entry = json.loads(lines[4])
    entry["cut"][2] = number
    path.write_text("\n".join([*lines[:4], json.dumps(entry), *lines[5:]]) + "\n", encoding="utf-8")
    with pytest.raises(FileError, match="line 5 holds numbers that are not finite"):
        solve(problem, checkpoint=str(path))


def test_a_journal_whose_first_line_was_cut_off_begins_again(problem, tmp_path):
    path = tmp_path / "passes.journal"
    path.write_text('{"format": "hyperm', encoding="utf-8")
    assert solve(problem, checkpoint=str(path)).objective == solve(problem).objective
    assert path.read_text(encoding="utf-8").startswith('{"format": "hypermargin-passes-1"}\n')


def test_sets_of_another_size_make_another_problem(tmp_path):
    rng = np.random.default_rng(3)
    space = rng.normal(size=(3000, 2))
    X, y = np.column_stack([np.sqrt(1.0 + np.sum(space**2, axis=1)), space]), np.where(space[:, 0] > 0.0, 1.0, -1.0)
    rho, shape = np.full(3000, 0.1), np.tile(np.eye(2), (3000, 1, 1))
    other, turned, last = rho.copy(), shape.copy(), rho.copy()
    other[1500], turned[1500, 0, 1], last[7] = 0.2, 0.5, 0.1 + 1e-12
    order = np.arange(3000)[::-1]

    def name(problem):
        oracle = oracle_in_memory(problem, Frame(problem.centre))
        return Journal(tmp_path / "passes.journal", oracle, problem)._name

    sets = [*map(GeodesicBall, (0.1, rho, other, last)), Ellipsoid(shape, 0.1), Ellipsoid(turned, 0.1)]
    problems = [MarginProblem(X, y, 1.0, uncertainty=noise) for noise in sets]
    problems.append(MarginProblem(X[order], y[order], 1.0, uncertainty=GeodesicBall(other)))  # the sets of other points
    assert len({name(problem) for problem in problems}) == len(problems)
    again = MarginProblem(X, y, 1.0, uncertainty=GeodesicBall(other.copy()))
    assert name(again) == name(problems[2])


def test_checkpoints_of_classifiers_and_of_problems_in_memory(tmp_path):
    X, y = make_gaussian_mixture(40, 3, scale=0.6, random_state=0, return_X_y=True)
    path = str(tmp_path / "passes.journal")
    options = {"checkpoint": path}
    plain = HyperbolicSVC().fit(X, y)
    first = HyperbolicSVC(solver_options=options).fit(ArrayChunks(X, rows=50), y)
    size = (tmp_path / "passes.journal").stat().st_size
    second = HyperbolicSVC(solver_options=options).fit(ArrayChunks(X, rows=50), y)
    assert (tmp_path / "passes.journal").stat().st_size == size
    np.testing.assert_array_equal(first.coef_, second.coef_)
    in_memory = HyperbolicSVC(solver_options={"checkpoint": str(tmp_path / "other")}).fit(X, y)
    np.testing.assert_allclose(in_memory.coef_, plain.coef_, atol=1e-9)


def test_a_folder_is_no_checkpoint(tmp_path):
    problem = MarginProblem(lift([[0.5, 0.0], [-0.5, 0.1]]), [1.0, -1.0])
    with pytest.raises(FileError, match="is a folder; name a file as checkpoint"):
        solve(problem, "exact", checkpoint=str(tmp_path))
