"""The search: all candidates on a few folds first, and those that are not clearly behind on all of them.

This is successive halving (Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter
optimization", 2016) with two rounds. The first has two folds, of a part of the samples if they are many. Of each family
the best candidates go on, and no family whose best one is clearly behind: in score, and in log loss by more than chance
explains.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold

from hypermargin.data.ingest import RadiusWarning
from hypermargin.estimators.auto.choosing import Candidate, best_of_each_family, in_order, within_standard_errors
from hypermargin.estimators.auto.families import Family, Folds, Parameters, Samples
from hypermargin.estimators.kernel_fitting import KernelSpreadWarning
from hypermargin.estimators.scoring import Answers, Scorer, is_near
from hypermargin.progress import Progress

#: Folds of the first round; with fewer than one more there is one round.
FIRST_FOLDS = 2
#: The first round has at most so many samples, in three folds: a kernel matrix of them is computed in a tenth of a
#: second, and scores that differ by 2 % are told apart.
PART, PART_FOLDS = 1500, 3
#: Samples of each class that a part should have, if there are as many: ten for each fold.
LEAST_OF_A_CLASS = 30
#: Standard errors by which a family must be behind in log loss to be left out after the first round: one more than
#: keep a family out of a blend, because the rounds differ.
CLEARLY_BEHIND = 3.0
#: The share of the time limit that the search may use; the final fit has the rest.
SHARE_OF_SEARCH = 0.5


@dataclass(eq=False)
class Search:
    """Samples, how answers are scored, and how the work is done. No task begins after `deadline`, a `perf_counter`."""

    samples: Samples
    scorer: Scorer
    n_jobs: int | None = None
    progress: bool = False
    seed: int = 0
    deadline: float = np.inf
    #: Whether a task was left out because of the deadline.
    is_late: bool = field(default=False, init=False)

    def run(self, wanted: Sequence[tuple[Family, list[Parameters]]], folds: Folds) -> tuple[list[Candidate], Folds]:
        """Try candidates on the folds; returns them, and the folds that there was time for."""
        candidates = candidates_of(wanted)
        used = np.unique(np.concatenate([rows for fold in folds for rows in fold]))
        going_on, done = candidates, 0
        if any(len(given) > family.go_on for family, given in wanted) and len(folds) > FIRST_FOLDS:
            has_part = used.size > PART
            first = self._part(used) if has_part else folds[:FIRST_FOLDS]
            first = first[: self._try(candidates, first, "first round")]
            going_on = self._best(candidates, first)
            if self.is_late:
                return candidates, first
            done = 0 if has_part else FIRST_FOLDS
            for each in candidates:
                if has_part or each not in going_on:
                    each.answers, each.scores = [], np.empty(0)
        done += self._try(going_on, folds[done:], "second round")
        return candidates, folds[:done]

    def all_of(self, wanted: Sequence[tuple[Family, list[Parameters]]], folds: Folds) -> list[Candidate]:
        """Try candidates on all folds, in one round."""
        candidates = candidates_of(wanted)
        self._try(candidates, folds, "comparison")
        return candidates

    def _part(self, used: np.ndarray) -> Folds:
        """Folds of a part of the samples."""
        rows = used[part_of(self.samples.labels[used], PART, self.seed)]
        return stratified(self.samples.labels, rows, PART_FOLDS, self.seed)

    def _best(self, candidates: list[Candidate], folds: Folds) -> list[Candidate]:
        """Those that go on; sets what the first round has shown of all."""
        for each in candidates:
            each.screening = each.mean
        leaders = [each for each in best_of_each_family(candidates) if each.answers]
        if not leaders:
            return candidates
        tests = [test for _, test in folds]
        columns, weight = self.scorer.columns(tests), self.scorer.weight_of(tests)
        truth = np.stack([each.probability_of(columns, each.exponent(columns, weight)) for each in leaders])
        near = within_standard_errors(truth, weight, 1.0, CLEARLY_BEHIND)
        best = max(each.mean for each in leaders)
        families = [each.family for each, is_near in zip(leaders, near, strict=True) if is_near or each.mean >= best]
        own = [in_order([each for each in candidates if each.family is family])[: family.go_on] for family in families]
        return [each for each in candidates if any(each in some for some in own)]

    def _try(self, candidates: list[Candidate], folds: Folds, what: str) -> int:
        """Add answers and scores on folds, as many as the time allows; returns how many."""
        work = list(self._tasks(candidates, len(folds)))
        found: dict[tuple[Candidate, int], Answers] = {}
        tasks = (delayed(self._answers)(group, [folds[k] for k in part]) for group, part in work)
        began = time.perf_counter()
        with warnings.catch_warnings():  # here, because filters are those of all threads
            for expected in (ConvergenceWarning, KernelSpreadWarning, RadiusWarning):
                warnings.simplefilter("ignore", expected)
            results = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(tasks)
            shown = Progress(f"choosing a model, {what}", len(work), closing=True) if self.progress else None
            with shown or nullcontext():
                for number, ((group, part), answers) in enumerate(zip(work, results, strict=True), start=1):
                    for k, of_fold in zip(part, answers, strict=False):  # none if it was too late
                        found.update({(each, k): own for each, own in zip(group, of_fold, strict=True)})
                    if shown is not None and number < len(work):
                        left = (time.perf_counter() - began) * (len(work) - number) / number
                        shown.at(number, f"{work[number][0][0].name}, about {left:.0f} s left")
        done = len(list(takewhile(lambda k: all((each, k) in found for each in candidates), range(len(folds)))))
        if done == 0 and not any(each.answers for each in candidates) and found:  # those that have one fold
            done = 1
        for each in candidates:
            if all((each, k) in found for k in range(done)):
                own = [found[each, k] for k in range(done)]
                each.answers += own
                each.scores = np.append(each.scores, self.scorer.scores(own, [test for _, test in folds[:done]]))
        return done

    def _tasks(self, candidates: list[Candidate], n_folds: int) -> Iterator[tuple[list[Candidate], list[int]]]:
        """Groups of candidates and the folds to try them on together, the first fold of all first."""
        groups = []
        for family in dict.fromkeys(each.family for each in candidates):
            own = [each for each in candidates if each.family is family]
            places = family.tasks([each.parameters for each in own])
            groups += [[own[i] for i in some] for some in places]
        together = list(range(n_folds)) if np.isinf(self.deadline) else [0]
        for k in range(n_folds):
            for group in groups:
                shares = group[0].family.shares_folds and len(together) > 1
                if not shares or k == 0:
                    yield group, together if shares else [k]

    def _answers(self, group: list[Candidate], folds: Folds) -> list[list[Answers]]:
        """Answers of a group of candidates on some folds, which may lack classes; none if it is too late."""
        began = time.perf_counter()
        if began > self.deadline:
            self.is_late = True
            return []
        labels, n_classes = self.samples.labels, self.scorer.classes.size
        present = [np.unique(labels[train]) for train, _ in folds]
        usable = [fold for fold, classes in zip(folds, present, strict=True) if classes.size > 1]
        with config_context(assume_finite=True, skip_parameter_validation=True):  # of this thread
            fitted = iter(group[0].family.answers([each.parameters for each in group], self.samples, usable))
        found = []
        for (_, test), classes in zip(folds, present, strict=True):
            if classes.size > 1:
                found.append([answers.among(classes, n_classes) for answers in next(fitted)])
            else:  # nothing to learn: the one class there is
                found.append([Answers(np.ones((len(test), 1))).among(classes, n_classes)] * len(group))
        for each in group:
            each.seconds += (time.perf_counter() - began) / len(group)
        return found


def candidates_of(wanted: Sequence[tuple[Family, list[Parameters]]]) -> list[Candidate]:
    return [Candidate(family, parameters) for family, given in wanted for parameters in given]


def stratified(labels: np.ndarray, rows: np.ndarray, n_folds: int, seed: int, repeats: int = 1) -> Folds:
    """Stratified folds of some rows."""
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=repeats, random_state=seed)
    return [(rows[train], rows[test]) for train, test in in_silence(splitter, labels[rows], rows)]


def in_silence(splitter: Any, labels: np.ndarray, points: np.ndarray) -> Folds:
    """The splits of a splitter, without a warning of classes that are smaller than their number."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(splitter.split(points, labels))


def part_of(labels: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Rows of about `size` samples, drawn in proportion to the classes, but at least `LEAST_OF_A_CLASS` of each."""
    rng = np.random.RandomState(seed)
    share = size / labels.size
    chosen = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        wanted = min(rows.size, max(LEAST_OF_A_CLASS, round(share * rows.size)))
        chosen.append(rng.permutation(rows)[:wanted])
    return np.sort(np.concatenate(chosen))


def affordable(candidates: list[Candidate], size: float, seconds: float) -> list[Candidate]:
    """Candidates whose final fit, to `size` times the samples of a fold, is expected to take so many seconds at most.

    The cheapest one if there is none. A kernel takes a time that grows with the square of the samples.
    """
    costs = {}
    for each in candidates:
        if each.answers:
            once = each.family.final_cost * each.seconds / len(each.answers)
            costs[each] = once * size ** (2 if each.family.is_costly else 1)
    if not costs or max(costs.values()) <= seconds:
        return candidates
    least = min(costs.values())
    return [each for each in candidates if each not in costs or costs[each] <= max(seconds, least)]


def worth_the_cost(candidates: list[Candidate]) -> list[Candidate]:
    """Candidates for many samples: those of costly families only if no other family is near their scores."""
    leaders = [each for each in best_of_each_family(candidates) if each.answers]
    cheap = [each for each in leaders if not each.family.is_costly]
    hopeless = {
        each.family
        for each in leaders
        if each.family.is_costly and any(is_near(other.scores, each.scores) for other in cheap)
    }
    return [each for each in candidates if each.family not in hopeless]
