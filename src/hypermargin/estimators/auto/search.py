"""All candidates tried on shared folds, in threads; costly families on a part of the samples first."""

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
from hypermargin.estimators.auto.families import MANY_SAMPLES, Family, Parameters, Samples
from hypermargin.estimators.kernel_choice import KernelSpreadWarning
from hypermargin.estimators.scoring import Answers, Scorer, is_near, mean_score
from hypermargin.progress import tracked

Folds = Sequence[tuple[np.ndarray, np.ndarray]]

#: Screening: samples of the part, folds, and candidates of each family that go on. With many samples the part is
#: larger and fewer go on, because every one of them costs more.
PART, SCREENING_FOLDS, GO_ON = 1500, 3, 4
PART_OF_MANY, GO_ON_OF_MANY = 3000, 2
#: Samples of each class that a part should have, if there are as many: ten for each fold.
LEAST_OF_A_CLASS = 30


@dataclass(eq=False)
class Candidate:
    """Parameters of a family, their answers and scores on every fold, and the seconds these took.

    `screening` is the score on a part of the samples. Candidates that ended there have no answers.
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
    """Samples, how answers are scored, and how the work is done."""

    samples: Samples
    scorer: Scorer
    n_jobs: int | None
    progress: bool
    seed: int

    def run(self, wanted: Sequence[tuple[Family, list[Parameters]]], folds: Folds) -> list[Candidate]:
        """Try candidates on the folds; of screened families those that do best on a part of the samples."""
        candidates = [Candidate(family, parameters) for family, given in wanted for parameters in given]
        n_samples = len(self.samples.labels)
        self._screen([each for each in candidates if n_samples > each.family.screened_from])
        going_on = [each for each in candidates if not np.isneginf(each.screening)]
        for each in going_on:
            each.parameters = each.family.on_all(each.parameters, n_samples)
        self._try(going_on, folds, "candidates")
        return candidates

    def _screen(self, candidates: list[Candidate]) -> None:
        """Set the `screening` score of candidates, -inf for those that do not go on."""
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
        best = max(candidates, key=lambda each: each.mean)
        for family, own in _by_family(candidates):
            own.sort(key=lambda each: -each.mean)
            is_behind = family.is_rigid and not is_near(own[0].scores, best.scores)
            for place, each in enumerate(own):
                each.screening = -np.inf if is_behind or place >= go_on else each.mean
        for each in candidates:
            each.answers, each.scores = [], np.empty(0)

    def _try(self, candidates: list[Candidate], folds: Folds, what: str) -> None:
        """Fill in answers and scores on all folds."""
        work = []
        for family, own in _by_family(candidates):
            groups = [[own[i] for i in places] for places in family.tasks([each.parameters for each in own])]
            parts = [list(range(len(folds)))] if family.shares_folds else [[k] for k in range(len(folds))]
            work += [(group, part) for group in groups for part in parts]
        for each in candidates:
            each.answers = [None] * len(folds)  # type: ignore[list-item]
        tasks = (delayed(self._answers)(group, [folds[k] for k in part]) for group, part in work)
        with warnings.catch_warnings():  # here, because filters are those of all threads
            for expected in (ConvergenceWarning, KernelSpreadWarning):
                warnings.simplefilter("ignore", expected)
            done: Iterable = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(tasks)
            if self.progress:
                done = tracked(done, what, len(work), closing=True)
            for (group, part), (answers, seconds) in zip(work, done, strict=True):
                for k, of_fold in zip(part, answers, strict=True):
                    for each, own_answers in zip(group, of_fold, strict=True):
                        each.answers[k] = own_answers
                for each in group:
                    each.seconds += seconds / len(group)
        tests = [test for _, test in folds]
        for each in candidates:
            each.scores = self.scorer.scores(each.answers, tests)

    def _answers(self, group: list[Candidate], folds: Folds) -> tuple[list[list[Answers]], float]:
        """Answers of a group of candidates on some folds, and the seconds; folds may lack classes to train on."""
        began = time.perf_counter()
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
        return found, time.perf_counter() - began


def _by_family(candidates: Sequence[Candidate]) -> list[tuple[Family, list[Candidate]]]:
    families = dict.fromkeys(each.family for each in candidates)
    return [(family, [each for each in candidates if each.family is family]) for family in families]


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
