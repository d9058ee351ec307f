"""All binary problems of a kernel classifier: where their kernel values come from, and their results."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track

from hypermargin.arrays import Array
from hypermargin.certificates.fingerprints import array_fingerprint
from hypermargin.certificates.kernel import KernelCertificate
from hypermargin.estimators.fitting import calibrate
from hypermargin.estimators.inputs import TrainingSet
from hypermargin.kernels import Kernel
from hypermargin.kernels.chords import polar_points
from hypermargin.problems.kernel import FeatureProblem, KernelFunction, KernelProblem, KernelProblemFamily
from hypermargin.solvers import Solution, Status
from hypermargin.solvers.base import make_solution
from hypermargin.solvers.common.threads import blas
from hypermargin.solvers.kernel.landmarks import Landmarks, draw_landmarks, landmark_features
from hypermargin.solvers.kernel.method import (
    AIM,
    FamilyAnswers,
    Provable,
    outcome_of,
    solve_family,
    solve_path_with_scores,
)

#: Problems of fewer samples are solved by one thread each: several would wait for one another more than they work.
SMALL = 3000
#: And problems of at most so many samples in one call, where they share a matrix.
TOGETHER = 1000

Answers = list[tuple[Solution, Array]]


class KernelMemoryWarning(UserWarning):
    """The kernel matrix is larger than `cache_size` allows, so that its parts are computed when needed."""


@dataclass(eq=False)
class KernelResults:
    """The result of every binary problem for one C, as far as a fit needs it.

    Solutions with their certificates, and the Platt coefficients of the scores, take longer to make than dozens of
    small problems take to solve; they are made when they are first read.

    Parameters
    ----------
    samples : TrainingSet
    code : (n_problems, n_classes) array
    problem_of : callable
        The problem of a given number, as certificates state it; kernel values may be missing.
    batch : FamilyAnswers or None
        The problems solved in one call.
    members : (m,) array of int
        Their numbers.
    singles : mapping
        Solution and scores of the other problems by number, and of members that the batch has not proved.
    """

    samples: TrainingSet
    code: np.ndarray
    problem_of: Callable[[int], Provable]
    batch: FamilyAnswers | None
    members: np.ndarray
    singles: Mapping[int, tuple[Solution, Array]]

    def of_all(self, of_family: Callable[[FamilyAnswers], np.ndarray], of_one: Callable[[Solution], Any]) -> np.ndarray:
        """A number of each problem, shape (n_problems,)."""
        values = np.zeros(len(self.code))
        if self.batch is not None:
            values[self.members] = of_family(self.batch)
        for k, (solution, _) in self.singles.items():
            values[k] = of_one(solution)
        return values

    @property
    def statuses(self) -> list[Status]:
        """Unproved problems of the batch have been solved again one by one, so the rest are OPTIMAL."""
        return [self.singles[k][0].status if k in self.singles else Status.OPTIMAL for k in range(len(self.code))]

    def coefficients(self) -> Array:
        """Coefficients of all training points in every problem, shape (n_problems, n)."""
        sizes, bounds = self.samples.sizes, np.asarray(self.samples.bounds)
        matrix = np.zeros((len(self.code), bounds[-1]))
        for k, (solution, _) in self.singles.items():
            matrix[k, np.repeat(self.code[k] != 0.0, sizes)] = solution.w
        of_members = [k for k in range(len(self.members)) if int(self.members[k]) not in self.singles]
        if self.batch is not None and of_members:
            used = np.zeros_like(matrix, dtype=bool)
            used[self.members[of_members]] = np.repeat(self.code[self.members[of_members]] != 0.0, sizes, axis=1)
            own = self.batch.beta
            if len(of_members) < len(self.members):
                own = np.concatenate([self.batch.own(own, k) for k in of_members])
            matrix[used] = own
        return matrix

    @cached_property
    def solutions(self) -> list[Solution]:
        """One for each problem, in order."""
        return [self.singles[k][0] if k in self.singles else self._solution(k) for k in range(len(self.code))]

    def _solution(self, k: int) -> Solution:
        found, p = self.batch, int(np.searchsorted(self.members, k))
        assert found is not None
        certificate = KernelCertificate.of(found.own(found.beta, p), float(found.intercepts[p]))
        bounds = float(found.lower_bounds[p]), float(found.objectives[p])
        outcome = outcome_of(certificate, bounds, Status.OPTIMAL, int(found.n_iter[p]))
        share = found.seconds / len(self.members)  # of a time that was measured for all
        return make_solution(self.problem_of(k), outcome, bounds[1], np.inf, method="kernel", seconds=share)

    @cached_property
    def platt(self) -> tuple[Array, Array]:
        """Platt coefficients of the scores of the training points, each shape (n_problems,)."""
        return calibrate(self.samples, self.code, self._score)

    @property
    def platt_A(self) -> Array:
        return self.platt[0]

    @property
    def platt_B(self) -> Array:
        return self.platt[1]

    def _score(self, k: int, rows: slice) -> Array:
        """Scores of some training points in a problem; they are in the order of its classes."""
        if k in self.singles:
            scores = self.singles[k][1]
        else:
            assert self.batch is not None
            scores = self.batch.own(self.batch.scores, int(np.searchsorted(self.members, k)))
        before = np.asarray(self.samples.bounds[:-1]) < rows.start
        begin = int(self.samples.sizes[before & (self.code[k] != 0.0)].sum())
        return scores[begin : begin + rows.stop - rows.start]


@dataclass(eq=False)
class KernelProblems:
    """The binary problems of a training set, one for each row of a code matrix.

    `method` says where kernel values come from: "matrix" (one for all problems), "matrices" (one for each problem in
    turn), "rows" (computed when needed, the latest kept) or "landmarks".
    """

    samples: TrainingSet
    code: np.ndarray
    kernel: KernelFunction
    cache_bytes: int
    landmarks: Landmarks | None = None
    method: str = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.samples.X)
        largest = int(((self.code != 0.0) @ self.samples.sizes).max())
        self.points = polar_points(self.samples.X) if isinstance(self.kernel, Kernel) else self.samples.X
        self.gram: Array | None = None
        self.features: Array | None = None
        if self.landmarks is not None:
            self.method = "landmarks"
            self.features = landmark_features(self._everything(), self.landmarks)
        elif 8 * n * n <= self.cache_bytes:
            self.method = "matrix"
            self.gram = self._everything().whole_matrix()
        else:
            self.method = "matrices" if 8 * largest * largest <= self.cache_bytes else "rows"

    @property
    def dim(self) -> int:
        """The dimension of the space of the points."""
        return self.samples.X.shape[1] - 1

    def _everything(self) -> KernelProblem:
        """All samples, as if they were one problem."""
        return KernelProblem(self.points, np.ones(len(self.samples.X)), self.kernel)

    def warn_of_memory(self) -> None:
        """Say how much the matrix would take, and what is quicker."""
        n = len(self.samples.X)
        warnings.warn(
            f"the kernel matrix of {n} points would take {8e-9 * n * n:.3g} GB, more than cache_size allows "
            f"({self.cache_bytes / 1e9:.3g} GB); its parts are computed when needed, which takes time. n_landmarks=500 "
            "would cost memory and time linear in the number of points",
            KernelMemoryWarning,
            stacklevel=5,
        )

    @cached_property
    def origin(self) -> str:
        """What features of landmarks are, in words that identify them."""
        assert self.landmarks is not None
        seen_from = array_fingerprint(self.samples.X[self.landmarks.chosen, 1:])
        kernel = repr(self.kernel) if isinstance(self.kernel, Kernel) else "a kernel of the user's own"
        return f"{kernel} seen from the {self.landmarks.chosen.size} landmarks {seen_from}"

    @cached_property
    def runs(self) -> list[tuple[tuple[int, int], ...]]:
        """The samples of every problem, as the first and one past the last row of each of its classes."""
        bounds = self.samples.bounds
        return [tuple((bounds[c], bounds[c + 1]) for c in row.nonzero()[0].tolist()) for row in self.code]

    def rows_of(self, k: int) -> np.ndarray:
        """The samples of problem k."""
        return np.concatenate([np.arange(first, past) for first, past in self.runs[k]])

    def problem(self, k: int, C: float) -> KernelProblem | FeatureProblem:
        """Binary problem k."""
        used = self.code[k].nonzero()[0]
        y = self.code[k, used].repeat(self.samples.sizes[used])
        everything = used.size == self.code.shape[1]
        weight = self.samples.weight
        if not everything and weight is not None:
            weight = weight[self.rows_of(k)]
        if self.features is not None:
            rows = slice(None) if everything else self.rows_of(k)
            return FeatureProblem(self.features[rows], y, C, weight, self.samples.X[rows, 1:], self.origin)
        runs = None if everything else self.runs[k]
        problem = KernelProblem(self.points, y, self.kernel, C, weight, self.gram, self.cache_bytes, runs)
        if self.method != "matrices":
            return problem
        return KernelProblem(problem.own_points, y, self.kernel, C, weight, problem.whole_matrix())

    def solve(self, Cs: Sequence[float], tol: float, n_jobs: int | None, progress: bool) -> list[KernelResults]:
        """Results of all problems for every C of a list, in its order.

        Small problems that share a matrix are solved in one call, the others one by one; at the same time where
        `n_jobs` says so.
        """
        members = np.flatnonzero((self.code != 0.0) @ self.samples.sizes <= (0 if self.gram is None else TOGETHER))
        families = self._solve_batch(members, Cs, tol)
        proved = np.all([found.gaps <= tol for found in families], axis=0) if families else np.ones(0, dtype=bool)
        left = np.setdiff1d(np.arange(len(self.code)), members[proved]).tolist()
        paths = dict(zip(left, self._solve_singly(left, Cs, tol, n_jobs, progress), strict=True))
        facts = copy(self)
        facts.gram = facts.features = None  # lazy solutions do not keep kernel values in memory
        return [
            KernelResults(
                self.samples,
                self.code,
                partial(facts.problem, C=float(C)),
                families[i] if families else None,
                members,
                {k: path[i] for k, path in paths.items()},
            )
            for i, C in enumerate(Cs)
        ]

    def _solve_batch(self, members: np.ndarray, Cs: Sequence[float], tol: float) -> list[FamilyAnswers]:
        """Some problems for every C, each C from the answer of the last; none where there are no such problems."""
        if self.gram is None or not members.size:
            return []
        found: dict[int, FamilyAnswers] = {}
        beta, last = None, 1.0
        for i in sorted(range(len(Cs)), key=Cs.__getitem__):
            C = float(Cs[i])
            family = KernelProblemFamily(
                self.gram, self.kernel, self.dim, self.samples.bounds, self.code[members], C, self.samples.weight
            )
            found[i] = solve_family(family, AIM * tol, None if beta is None else beta * (C / last))
            beta, last = found[i].beta, C
        return [found[i] for i in range(len(Cs))]

    def _solve_singly(
        self, numbers: list[int], Cs: Sequence[float], tol: float, n_jobs: int | None, progress: bool
    ) -> list[Answers]:
        """Solutions and scores of some problems for every C."""
        if not numbers:
            return []
        small = int(((self.code[numbers] != 0.0) @ self.samples.sizes).max()) <= SMALL
        with blas().limit(limits=1 if small else None, user_api="blas"):
            if n_jobs in (None, 1) or self.method != "matrix":
                done: Iterable[Answers] = (self._solve(k, Cs, tol) for k in numbers)
            else:
                tasks = (delayed(self._solve)(k, Cs, tol) for k in numbers)
                done = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
            if progress:
                done = track(done, "binary problems", total=len(numbers), console=Console(stderr=True))
            return list(done)

    def _solve(self, k: int, Cs: Sequence[float], tol: float) -> Answers:
        return solve_path_with_scores(self.problem(k, float(Cs[0])), Cs, tol)


def make_landmarks(
    samples: TrainingSet, kernel: KernelFunction, n_landmarks: int, random_state: np.random.RandomState
) -> Landmarks:
    """Landmarks among the samples of all classes."""
    points = polar_points(samples.X) if isinstance(kernel, Kernel) else samples.X
    return draw_landmarks(KernelProblem(points, np.ones(len(samples.X)), kernel), n_landmarks, random_state)


#: What `KernelProblems.method` means, for users.
METHODS: dict[str, str] = {
    "matrix": "one kernel matrix in memory",
    "matrices": "a kernel matrix for each binary problem",
    "rows": "kernel rows computed when needed",
    "landmarks": "features of landmarks",
}
