"""Problems in step: the same answers as one after the other, from far fewer reads, and nothing left behind."""

import threading
from functools import partial

import numpy as np
import pytest

from hypermargin import GeodesicBall, HyperbolicSVC
from hypermargin.data import executors
from hypermargin.data.executors import InMemory, run_batched
from hypermargin.data.readers import ArrayChunks
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import svc
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.blocked_oracle import joint_cuts, same_points
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.oracle import HingeOracle


class CountedSource(InMemory):
    asked = 0

    def map_blocks(self, function, *arguments):
        self.asked += 1
        return super().map_blocks(function, *arguments)


def total(piece, factor):
    return factor * sum(piece)


def scaled(piece, factor):
    return [factor * v for v in piece]


def sums(rounds, home):
    """The sum of the numbers of all pieces, times 1, 2, ... `rounds`."""
    doubled = home.map(scaled, 2)
    return [sum(doubled.map_blocks(total, k)) / 2 for k in range(1, rounds + 1)]


@pytest.mark.parametrize("at_a_time", [1, 3, 100])
def test_every_work_gets_its_own_answers_in_as_few_questions_as_there_are_rounds(monkeypatch, at_a_time):
    monkeypatch.setattr(executors, "BATCH_SIZE", at_a_time)
    home, rounds = CountedSource([[1, 2], [3]]), [4, 0, 7, 2, 7]
    found = list(run_batched(home, [partial(sums, n) for n in rounds]))
    assert found == [[6 * k for k in range(1, n + 1)] for n in rounds]
    if at_a_time == 100:
        assert home.asked == max(rounds)
    if at_a_time == 1:
        assert home.asked == sum(rounds)


def test_an_error_in_one_work_ends_all_of_them():
    def fails(home):
        home.map_blocks(total, 1)
        raise KeyError("of its own")

    before = threading.active_count()
    with pytest.raises(KeyError, match="of its own"):
        list(run_batched(InMemory([[1]]), [partial(sums, 9), fails, partial(sums, 9)]))
    assert threading.active_count() == before


def test_an_error_in_a_piece_is_raised_and_nothing_waits_on():
    def refuse(piece):
        raise OSError("the file is gone")

    before = threading.active_count()
    with pytest.raises(OSError, match="gone"):
        list(run_batched(InMemory([[1]]), [partial(sums, 9), lambda home: home.map_blocks(refuse)]))
    assert threading.active_count() == before


def test_results_come_one_by_one_and_the_rest_can_be_given_up():
    before = threading.active_count()
    results = run_batched(InMemory([[5]]), [partial(sums, 1), partial(sums, 50)])
    assert next(results) == [5]
    results.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [2, 12])
def test_the_joint_pass_is_that_of_every_problem(d, weighted):
    rng = np.random.default_rng(d)
    X, labels = make_gaussian_mixture(900, 4, dim=d, scale=0.5, random_state=1, return_X_y=True)
    weight = rng.uniform(0.1, 3.0, len(X)) if weighted else None
    problems = [MarginProblem.unchecked(X, np.where(labels == k, 1.0, -1.0), 1.0, weight) for k in range(4)]
    assert len({same_points(problem) for problem in problems}) == 1
    W, frame = rng.standard_normal((4, d + 1)), Frame(problems[0].centre)
    threshold = HingeOracle(problems[0], frame).threshold
    for problem, w, *found in zip(problems, W, *joint_cuts(problems, frame.centre, threshold, W), strict=True):
        expected = HingeOracle(problem, frame)(w)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours / np.sqrt(2.0) == pytest.approx(theirs, rel=1e-11, abs=1e-9)


@pytest.fixture
def reads(monkeypatch):
    """How often all chunks have been read, in a list of one number."""
    count, iterate = [0], ArrayChunks.__iter__

    def counted(chunks):
        count[0] += 1
        return iterate(chunks)

    monkeypatch.setattr(ArrayChunks, "__iter__", counted)
    monkeypatch.setattr(executors, "free_memory", lambda: 0.0)  # so that chunks are not kept
    return count


@pytest.mark.parametrize(
    ("scheme", "noise"), [("ovr", None), ("ovo", None), ("ovr", GeodesicBall(0.05))], ids=["ovr", "ovo", "robust"]
)
def test_classes_in_step_are_those_one_after_the_other(monkeypatch, reads, scheme, noise):
    X, y = make_gaussian_mixture(120, 4, dim=2, scale=0.4, random_state=3, return_X_y=True)
    models, counts = [], []
    for together in (True, False):
        if not together:
            monkeypatch.setattr(svc, "_batch_pays", lambda *_: False)
        reads[0] = 0
        models.append(HyperbolicSVC(multi_class=scheme, uncertainty=noise).fit(ArrayChunks(X, rows=100), y))
        counts.append(reads[0])
    in_step_, in_turn = models
    assert in_step_.coef_ == pytest.approx(in_turn.coef_, abs=1e-8)
    assert in_step_.statuses_ == in_turn.statuses_
    for ours, theirs in zip(in_step_.solutions_, in_turn.solutions_, strict=True):
        assert ours.lower_bound == pytest.approx(theirs.lower_bound, rel=1e-6)
    passes = in_turn.n_iter_
    assert counts[1] - counts[0] > 0.9 * (passes.sum() - passes.max())  # only the slowest reads the data on its own


def test_a_limit_of_one_problem_is_kept_by_solving_them_in_turn(reads):
    X, y = make_gaussian_mixture(50, 3, dim=2, scale=0.4, random_state=3, return_X_y=True)
    model = HyperbolicSVC(multi_class="ovr", solver_options={"time_limit": 60.0}).fit(ArrayChunks(X, rows=50), y)
    assert reads[0] > sum(model.n_iter_)
