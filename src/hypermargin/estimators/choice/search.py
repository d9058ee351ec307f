"""All candidates tried on shared folds: costly families on a part of the samples first, work in threads."""

import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from hypermargin.arrays import Array
from hypermargin.estimators.choice.answers import Answers, Judge
from hypermargin.estimators.choice.families import MANY_SAMPLES, Family, Parameters, Samples
from hypermargin.estimators.choice.table import is_near, mean_score
from hypermargin.progress import tracked

Folds = Sequence[tuple[np.ndarray, np.ndarray]]

#: Families that are screened are tried on so many samples first, in so many folds, and so many candidates go on; with
#: many samples on more, and fewer go on.
PART, SCREENING_FOLDS, GO_ON = 1500, 3, 4
PART_OF_MANY, GO_ON_OF_MANY = 3000, 2
#: Standard errors by which a rigid family may be behind the best one on a part of many samples.
MOST_BEHIND = 2.0
#: Samples of each class that a part should have, where there are as many.
LEAST_OF_A_CLASS = 30


@dataclass(eq=False)
class Tried:
    """A candidate, its answers and scores on every fold, and the seconds it took; `screening` is its first score.

    Candidates that did not get beyond the screening have no answers.
    """

    family: Family
    parameters: Parameters
    answers: list[Answers] = field(default_factory=list)
    scores: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    screening: float = np.nan

    @property
    def mean(self) -> float:
        return mean_score(self.scores)


@dataclass(frozen=True, eq=False)
class Search:
    """Samples, who judges the answers, and how the work is done."""

    samples: Samples
    judge: Judge
    n_jobs: int | None
    progress: bool
    seed: int

    def run(self, wanted: Sequence[tuple[Family, list[Parameters]]], folds: Folds) -> list[Tried]:
        """Try candidates on the folds; of screened families those that do best on a part of the samples."""
        everything = [Tried(family, parameters) for family, given in wanted for parameters in given]
        self._screen([tried for tried in everything if len(self.samples.labels) > tried.family.screened_from])
        going_on = [tried for tried in everything if not np.isneginf(tried.screening)]
        for tried in going_on:
            tried.parameters = tried.family.on_all(tried.parameters, len(self.samples.labels))
        self._try(going_on, folds, "candidates")
        return everything

    def _screen(self, candidates: list[Tried]) -> None:
        """Set the first score of candidates, and -inf where it ends there."""
        are_many = len(self.samples.labels) > MANY_SAMPLES
        size, go_on = (PART_OF_MANY, GO_ON_OF_MANY) if are_many else (PART, GO_ON)
        if len(candidates) <= go_on:
            return
        rows = part_of(self.samples.labels, size, self.seed)
        folds = StratifiedKFold(SCREENING_FOLDS, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            parts = [(rows[train], rows[test]) for train, test in folds.split(rows, self.samples.labels[rows])]
        self._try(candidates, parts, "candidates on a part of the samples")
        best = max(candidates, key=lambda tried: tried.mean)
        for family in dict.fromkeys(tried.family for tried in candidates):
            own = sorted((tried for tried in candidates if tried.family is family), key=lambda tried: -tried.mean)
            is_behind = family.is_rigid and not is_near(own[0].scores, best.scores, MOST_BEHIND)
            for place, tried in enumerate(own):
                tried.screening = -np.inf if is_behind or place >= go_on else tried.mean
        for tried in candidates:
            tried.answers, tried.scores = [], np.empty(0)

    def _try(self, candidates: list[Tried], folds: Folds, what: str) -> None:
        """Fill in answers and scores on all folds."""
        work = []
        for family in dict.fromkeys(tried.family for tried in candidates):
            own = [tried for tried in candidates if tried.family is family]
            groups = [[own[i] for i in places] for places in family.tasks([tried.parameters for tried in own])]
            parts = [list(range(len(folds)))] if family.shares_folds else [[k] for k in range(len(folds))]
            work += [(group, part) for group in groups for part in parts]
        for tried in candidates:
            tried.answers = [None] * len(folds)  # type: ignore[list-item]
        tasks = (delayed(self._answers)(group, [folds[k] for k in part]) for group, part in work)
        with warnings.catch_warnings():  # here, because filters are those of all threads
            warnings.simplefilter("ignore", ConvergenceWarning)
            done: Iterable = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(tasks)
            if self.progress:
                done = tracked(done, what, len(work), closing=True)
            for (group, part), (answers, seconds) in zip(work, done, strict=True):
                for k, of_fold in zip(part, answers, strict=True):
                    for tried, own_answers in zip(group, of_fold, strict=True):
                        tried.answers[k] = own_answers
                for tried in group:
                    tried.seconds += seconds / len(group)
        tests = [test for _, test in folds]
        for tried in candidates:
            tried.scores = self.judge.scores(tried.answers, tests)

    def _answers(self, group: list[Tried], folds: Folds) -> tuple[list[list[Answers]], float]:
        """Answers of a group of candidates on some folds, and the seconds; folds may lack classes to train on."""
        began = time.perf_counter()
        labels, n_classes = self.samples.labels, self.judge.classes.size
        present = [np.unique(labels[train]) for train, _ in folds]
        usable = [fold for fold, classes in zip(folds, present, strict=True) if classes.size > 1]
        with config_context(assume_finite=True, skip_parameter_validation=True):  # of this thread
            fitted = iter(group[0].family.answers([tried.parameters for tried in group], self.samples, usable))
        found = []
        for (_, test), classes in zip(folds, present, strict=True):
            if classes.size > 1:
                found.append([answers.among(classes, n_classes) for answers in next(fitted)])
            else:  # nothing to learn: the one class there is
                found.append([Answers(np.ones((len(test), 1))).among(classes, n_classes)] * len(group))
        return found, time.perf_counter() - began


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
