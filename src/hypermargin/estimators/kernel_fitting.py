"""The problems of a kernel classifier: which kernel, where its values come from, and the results."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed

from hypermargin.arrays import Array
from hypermargin.certificates.fingerprints import array_fingerprint
from hypermargin.certificates.kernel import KernelCertificate
from hypermargin.estimators.inputs import TrainingSet
from hypermargin.estimators.solved import Results, calibrate
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.geometry.mean import mean_and_spread
from hypermargin.kernels import KERNELS, CoshKernel, DistanceKernel, HeatKernel, Kernel, LaplacianKernel
from hypermargin.kernels.chords import polar_points
from hypermargin.problems.kernel import FeatureProblem, KernelFunction, KernelProblem, KernelProblemFamily
from hypermargin.progress import tracked
from hypermargin.solvers import Solution, Status
from hypermargin.solvers.base import make_solution
from hypermargin.solvers.common.threads import blas
from hypermargin.solvers.kernel.features import Landmarks, landmark_features
from hypermargin.solvers.kernel.method import (
    AIM,
    FamilyAnswers,
    outcome_of,
    solve_family,
    solve_path_with_scores,
)

#: Problems of fewer samples are solved by one thread each: several would wait for one another more than they work.
SMALL = 3000
#: And problems of at most so many samples in one call, where they share a matrix.
TOGETHER = 1000
#: The parameter of each kernel that has one.
PARAMETERS = {"heat": "t", "cosh": "power", "laplacian": "gamma"}
#: Points on which a callable is searched for a negative eigenvalue, and how negative one may be by rounding.
LOOKED_AT, ROUNDING = 500, 1e-8
#: Rows and columns of the kernel matrix by which its spread is judged, and the fewest samples that are judged.
ROWS, COLUMNS, FEWEST = 64, 1024, 20
#: Dimensions up to which "auto" considers the heat kernel: its values take a time of the order of their square, in 128
#: dimensions four times as long as the whole fit with another kernel.
HEAT_DIMENSIONS = 100
#: From this weight of all other points on, relative to a point's own, "auto" takes the heat kernel. On four Gaussian
#: classes in 2 to 8 dimensions at radius 4 to 12 it was at most 0.04 less accurate than the Laplacian kernel from 10
#: on, up to 0.12 with 5 to 7, and up to 0.6 below 1. Graphs and taxonomies have 10 to 160; there it gains up to 0.02.
ENOUGH_OTHERS = 10.0
#: A matrix is nearly diagonal if all other values of a row together are below this share of its own: from about 1 down
#: such kernels were less accurate than the Laplacian one, and from 0.1 down by 0.2 and more (Gaussian classes in 4 to
#: 16 dimensions). It is nearly constant if values differ by less than `CONSTANT`, a hundred times their rounding.
DIAGONAL, CONSTANT = 0.1, 1e-12


class KernelMemoryWarning(UserWarning):
    """The kernel matrix is larger than `cache_size` allows, so that its parts are computed when needed."""


class KernelSpreadWarning(UserWarning):
    """The kernel is nearly the same for all pairs of points, or nearly 0 for all of different points."""


@dataclass(frozen=True, eq=False)
class BatchedResult:
    """The answer to one of the problems that were solved in one call, with what a fit needs of a `Solution`."""

    w: Array
    scores: Array
    intercept: float
    gap: float
    n_iter: int
    bounds: tuple[float, float]
    seconds: float
    status: ClassVar[Status] = Status.OPTIMAL  # others are solved again one by one

    @classmethod
    def of(cls, found: FamilyAnswers, p: int, gap: float) -> "BatchedResult":
        """The answer to problem number p, with its share of a time that was measured for all."""
        w, scores = found.own(found.beta, p), found.own(found.scores, p)
        bounds = float(found.lower_bounds[p]), float(found.objectives[p])
        share = found.seconds / len(found.intercepts)
        return cls(w, scores, float(found.intercepts[p]), gap, int(found.n_iter[p]), bounds, share)

    def solution(self, problem: Any) -> Solution:
        outcome = outcome_of(KernelCertificate.of(self.w, self.intercept), self.bounds, self.status, self.n_iter)
        return make_solution(problem, outcome, self.bounds[1], np.inf, method="kernel", seconds=self.seconds)


@dataclass(eq=False)
class KernelProblems:
    """The binary problems of a training set, one for each row of a code matrix.

    `method` says where kernel values come from: "matrix" (one for all problems), "matrices" (one for each problem in
    turn), "rows" (computed when needed, the latest kept) or "landmarks". `joint`: scores are calibrated by a softmax.
    """

    samples: TrainingSet
    code: np.ndarray
    kernel: KernelFunction
    cache_bytes: int
    landmarks: Landmarks | None = None
    joint: bool = False
    method: str = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.samples.X)
        largest = int(((self.code != 0.0) @ self.samples.sizes).max())
        whole = as_one_problem(self.samples, self.kernel)
        self.points = whole.points
        self.gram: Array | None = None
        self.features: Array | None = None
        if self.landmarks is not None:
            self.method = "landmarks"
            self.features = landmark_features(whole, self.landmarks)
        elif 8 * n * n <= self.cache_bytes:
            self.method = "matrix"
            self.gram = whole.whole_matrix()
        else:
            self.method = "matrices" if 8 * largest * largest <= self.cache_bytes else "rows"

    def warn_of_memory(self) -> None:
        """Warn of how much the matrix would take, with what is quicker."""
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

    def rows_of(self, k: int) -> np.ndarray:
        """The samples of problem k."""
        return self.samples.rows(np.arange(len(self.samples.X)), self.code[k])

    def coefficients(self, found: Results) -> Array:
        """Coefficients of all training points in every problem, shape (n_problems, n)."""
        used = np.repeat(self.code != 0.0, self.samples.sizes, axis=1)
        matrix = np.zeros(used.shape)
        matrix[used] = np.concatenate([result.w for result in found.results])
        return matrix

    def problem(self, k: int, C: float) -> KernelProblem | FeatureProblem:
        """Binary problem k."""
        code = self.code[k]
        y, weight = self.samples.sides(code)
        if self.features is not None:
            features, space = (self.samples.rows(values, code) for values in (self.features, self.samples.X[:, 1:]))
            return FeatureProblem(features, y, C, weight, space, self.origin)
        runs = None if code.all() else tuple((rows.start, rows.stop) for rows in self.samples.blocks(code))
        problem = KernelProblem(self.points, y, self.kernel, C, weight, self.gram, self.cache_bytes, runs)
        if self.method != "matrices":
            return problem
        return KernelProblem(problem.own_points, y, self.kernel, C, weight, problem.whole_matrix())

    def solve(self, Cs: Sequence[float], tol: float, n_jobs: int | None, progress: bool) -> list[Results]:
        """Results of all problems for every C of a list, in its order.

        Small problems that share a matrix are solved in one call, the others one by one; at the same time where
        `n_jobs` says so.
        """
        sizes = (self.code != 0.0) @ self.samples.sizes
        batched = np.flatnonzero(sizes <= (0 if self.gram is None else TOGETHER))
        batches = self._solve_batch(batched, Cs, tol)
        gaps = [batch.gaps for batch in batches]
        proved = np.all(np.array(gaps) <= tol, axis=0) if batches else np.ones(0, dtype=bool)
        left = np.setdiff1d(np.arange(len(self.code)), batched[proved]).tolist()
        paths = dict(zip(left, self._solve_singly(left, Cs, tol, n_jobs, progress), strict=True))
        bare = copy(self)
        bare.gram = bare.features = None  # lazy solutions do not keep kernel values in memory
        results = []
        for i, C in enumerate(Cs):
            found: dict[int, tuple[Any, Array]] = {k: path[i] for k, path in paths.items()}
            for p, k in enumerate(batched.tolist()):
                if proved[p]:
                    answer = BatchedResult.of(batches[i], p, float(gaps[i][p]))
                    found[k] = answer, answer.scores
            answers, scores = zip(*(found[k] for k in range(len(self.code))), strict=True)
            platt = partial(calibrate, self.samples, self.code, scores.__getitem__, self.joint)
            results.append(Results(list(answers), platt, partial(bare.problem, C=float(C))))
        return results

    def _solve_batch(self, members: np.ndarray, Cs: Sequence[float], tol: float) -> list[FamilyAnswers]:
        """Some problems for every C, each C from the answer of the last; none where there are no such problems."""
        if self.gram is None or not members.size:
            return []
        found: dict[int, FamilyAnswers] = {}
        beta, last, dim = None, 1.0, self.samples.X.shape[1] - 1
        for i in sorted(range(len(Cs)), key=Cs.__getitem__):
            C = float(Cs[i])
            family = KernelProblemFamily(
                self.gram, self.kernel, dim, self.samples.bounds, self.code[members], C, self.samples.weight
            )
            found[i] = solve_family(family, AIM * tol, None if beta is None else beta * (C / last))
            beta, last = found[i].beta, C
        return [found[i] for i in range(len(Cs))]

    def _solve_singly(
        self, numbers: list[int], Cs: Sequence[float], tol: float, n_jobs: int | None, progress: bool
    ) -> list[list[tuple[Solution, Array]]]:
        """Solutions and scores of some problems for every C."""
        if not numbers:
            return []
        small = int(((self.code[numbers] != 0.0) @ self.samples.sizes).max()) <= SMALL
        with blas().limit(limits=1 if small else None, user_api="blas"):
            works = [delayed(self._solve)(k, Cs, tol) for k in numbers]
            workers = n_jobs if self.method == "matrix" else 1
            done: Iterable = Parallel(n_jobs=workers, prefer="threads", return_as="generator")(works)
            if progress:
                done = tracked(done, "binary problems", len(numbers), closing=True)
            return list(done)

    def _solve(self, k: int, Cs: Sequence[float], tol: float) -> list[tuple[Solution, Array]]:
        return solve_path_with_scores(self.problem(k, float(Cs[0])), Cs, tol)


def as_one_problem(samples: TrainingSet, kernel: KernelFunction) -> KernelProblem:
    """All samples, as if they were one problem."""
    points = polar_points(samples.X) if isinstance(kernel, Kernel) else samples.X
    return KernelProblem(points, np.ones(len(samples.X)), kernel)


#: What `KernelProblems.method` means, for users.
METHODS: dict[str, str] = {
    "matrix": "one kernel matrix in memory",
    "matrices": "a kernel matrix for each binary problem",
    "rows": "kernel rows computed when needed",
    "landmarks": "features of landmarks",
}


# -- which kernel a name and its parameter stand for, and what a callable must return ----------------------------------


def chosen_kernel(kernel: Any, given: dict[str, Any], points: Array, weight: Array | None, curvature: float):
    """The kernel on unit Lorentz points that the parameters of a classifier describe.

    `given` maps the names of the parameters to their values, numbers or "scale". Lengths are those of the space of
    curvature ``-curvature``; with V the mean squared distance of the points to their mean, in that space, "scale" is
    ``t = V/4``, ``gamma = 1/sqrt(V)`` and ``power = 2/(curvature V)``.

    "auto" is the heat kernel, or the Laplacian one if t is "scale" and the heat kernel is so local on these points that
    all others together count less than `ENOUGH_OTHERS` times as much for a point as it does itself, or there are
    hundreds of dimensions. No t changes that: in many dimensions or far out the heat kernel falls as
    ``exp(-(d - 1) distance/2)`` however large t is.
    """
    check_kernel(kernel, given)
    if not isinstance(kernel, str):
        return kernel
    if kernel == "auto":
        kernel = "laplacian"
        if given["t"] != "scale" or points.shape[1] - 1 <= HEAT_DIMENSIONS:
            heat = chosen_kernel("heat", given, points, weight, curvature)
            if given["t"] != "scale" or weight_of_others(heat, points) >= ENOUGH_OTHERS:
                return heat
    if kernel == "distance":
        return DistanceKernel()
    value, scale = given[PARAMETERS[kernel]], curvature_scale(curvature)
    # On the unit hyperboloid lengths are `scale` times as long.
    spread = mean_and_spread(points, weight)[1] if isinstance(value, str) else 1.0
    spread = spread if spread > 1e-12 else 1.0  # one point
    if kernel == "heat":
        return HeatKernel(spread / 4.0 if isinstance(value, str) else float(value) * scale**2)
    if kernel == "laplacian":
        return LaplacianKernel(float(spread**-0.5) if isinstance(value, str) else float(value) / scale)
    return CoshKernel(2.0 / spread if isinstance(value, str) else float(value))


def check_kernel(kernel: Any, given: dict[str, Any]) -> None:
    """Refuse kernels that there are not, and parameters that are neither "scale" nor a positive number."""
    if isinstance(kernel, str):
        if kernel not in KERNELS and kernel != "auto":
            raise ValueError(f"unknown kernel {kernel!r}; the kernels are {', '.join(KERNELS)}, or a callable")
    elif not callable(kernel):
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)} or a callable, got {kernel!r}")
    for name, value in given.items():
        number = isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < np.inf
        if not number and not (isinstance(value, str) and value == "scale"):
            raise ValueError(f"{name} must be a positive number or 'scale', got {value!r}")


def weight_of_others(kernel: Kernel, points: Array) -> float:
    """The sum of a point's kernel values with all others, relative to its own; the median of some points.

    Infinite for a conditional kernel, to which a constant may be added, and for fewer than `FEWEST` points.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the heat kernel of hundreds of dimensions
        values = _some_values(kernel, points)
    return np.inf if values is None else float(np.median(values.mean(axis=1))) * (len(points) - 1)


def warn_of_spread(kernel: Kernel, points: Array) -> None:
    """Warn of a kernel whose matrix on the points is numerically diagonal or constant."""
    values = _some_values(kernel, points)
    if values is None:
        return
    others, spread = float(np.median(values.mean(axis=1))) * (len(points) - 1), float(np.ptp(values))
    if others < DIAGONAL:
        problem = f"diagonal: all other points together count {others:.1g} times as much for a point as it does itself"
    elif spread < CONSTANT and np.ptp(points[:, 1:], axis=0).any():
        problem = f"constant: its values differ by {spread:.1g} at most"
    else:
        return
    advice = f"choose another parameter than that of {kernel!r}, or kernel='auto'"
    warnings.warn(f"the kernel matrix is nearly {problem}; {advice}", KernelSpreadWarning, stacklevel=5)


def _some_values(kernel: Kernel, points: Array) -> Array | None:
    """Kernel values of some points with others, shape (n_rows, n_columns - 1); None where they say nothing."""
    if kernel.conditional or len(points) < FEWEST:
        return None
    columns = np.unique(np.linspace(0, len(points) - 1, min(len(points), COLUMNS)).astype(np.intp))
    rows = np.unique(np.linspace(0, len(columns) - 1, min(len(columns), ROWS)).astype(np.intp))
    prepared = polar_points(points[columns])
    values = kernel.between(prepared[rows], prepared)
    return values[np.arange(len(columns)) != rows[:, None]].reshape(len(rows), -1)


def checked_callable(kernel: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """The callable with its matrices checked: their shape, and that all entries are finite."""

    def checked(X: Array, Y: Array) -> Array:
        values = np.asarray(kernel(X, Y), dtype=np.float64)
        if values.shape != (len(X), len(Y)):
            raise ValueError(
                f"the kernel returned an array of shape {values.shape} for {len(X)} and {len(Y)} points; it must "
                f"return the matrix of shape {(len(X), len(Y))}"
            )
        if not np.all(np.isfinite(values)):
            raise ValueError("the kernel returned NaN or infinity; it must return a finite number for every pair")
        return values

    return checked


def require_definite(kernel: Callable[[Array, Array], Array], points: Array) -> None:
    """Refuse a callable with a clearly negative eigenvalue on the points (on some of them, if they are many).

    Conditionally definite kernels will do, since coefficients have sum 0.
    """
    some = points[np.linspace(0, len(points) - 1, min(len(points), LOOKED_AT)).astype(int)]
    K = kernel(some, some)
    size = max(float(np.abs(K).max()), 1e-300)
    if not np.allclose(K, K.T, rtol=0.0, atol=ROUNDING * size):
        raise ValueError("the kernel is not symmetric: k(x, y) and k(y, x) must be the same")
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    least = float(np.linalg.eigvalsh(0.5 * (centred + centred.T))[0])
    if least < -ROUNDING * len(K) * size:
        raise ValueError(
            f"the kernel is not positive definite: on {len(K)} points its least eigenvalue is {least:.3g} (on "
            "coefficients of sum 0). A classifier of largest margin needs a positive definite kernel"
        )
