"""A fit that was interrupted takes up where it stopped, and gives the same answer."""

import numpy as np
import pytest

from hypermargin import HyperbolicSVC, MarginProblem, solve
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.executors import InMemory
from hypermargin.data.readers import ArrayChunks
from hypermargin.datasets import make_gaussian_mixture


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
    (tmp_path / "letter.txt").write_text("Dear reader,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="not a journal"):
        solve(problem, checkpoint=str(tmp_path / "letter.txt"))


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
