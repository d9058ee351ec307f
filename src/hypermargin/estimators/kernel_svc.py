"""The kernel classifier: large margins in the Hilbert space of a kernel of the hyperbolic distance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from hypermargin.arrays import Array
from hypermargin.estimators.base import POSITIVE, at_least, keyword_only, or_none
from hypermargin.estimators.inputs import TrainingSet, training_set
from hypermargin.estimators.kernel_fitting import (
    PARAMETERS,
    KernelProblems,
    as_one_problem,
    check_kernel,
    checked_callable,
    chosen_kernel,
    require_definite,
    warn_of_spread,
)
from hypermargin.estimators.model_file import storable
from hypermargin.estimators.solved import Results, SolvedClassifier
from hypermargin.geometry.validation import FARTHEST_RADIUS
from hypermargin.kernels import KERNELS, Kernel
from hypermargin.kernels.chords import polar_points
from hypermargin.kernels.near import NearPoints, is_local
from hypermargin.problems.kernel import MANY, KernelFunction
from hypermargin.solvers.kernel.features import Landmarks, draw_landmarks

#: Entries of the largest block of kernel values that prediction makes at a time.
BLOCK_ENTRIES = 1 << 23


@storable
@keyword_only
@dataclass(eq=False, repr=False)
class HyperbolicKernelSVC(SolvedClassifier):
    """Large-margin classifier with a kernel of the hyperbolic distance.

    Every binary problem is ``min |f|^2/2 + sum_i c_i max(0, 1 - y_i (f(x_i) + b))`` over the Hilbert space of the
    kernel, as in scikit-learn's `SVC`. It is convex, and solved to a proved gap: `solutions_` keeps what is proved of
    each. Predictions depend on distances alone and do not change when all points are moved by an isometry.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the risk, finite.
    kernel : {"auto", "heat", "cosh", "laplacian", "distance"} or callable, default="auto"
        docs/kernels.md says what each is; "auto" is the heat kernel where its scale suits the points, and otherwise, as
        in more than some six dimensions or far out, the Laplacian one. A callable gets two arrays of unit Lorentz
        points, shapes (n, d + 1) and (m, d + 1), and returns the matrix (n, m) of a positive definite kernel.
    t, power, gamma : float or "scale", default="scale"
        The parameter of the heat, cosh and Laplacian kernel, in lengths of the space of curvature ``-curvature``. With
        V the mean squared distance of the training points to their mean, "scale" means ``t = V/4``, ``gamma =
        1/sqrt(V)`` and ``power = 2/(curvature V)``. The parameters of the other kernels are not used.
    n_landmarks : int, optional
        Approximate the kernel by its values at so many training points (fewer, where they explain all), which costs
        time and memory linear in the number of points. The optimum of the approximate problem is what is proved then.
    multi_class, geometry, curvature, class_weight, tol, verbose, calibration
        As in `HyperbolicSVC`.
    cache_size : float, default=2000
        Megabytes for kernel values. A matrix that does not fit is computed in parts, with a `KernelMemoryWarning`.
    n_jobs : int, optional
        Binary problems solved at the same time, by threads; the answer does not depend on it.
    random_state : int, RandomState or None
        Draws the landmarks.
    rim : {"clip", "drop", "error"}, default="clip"
        As in `HyperbolicSVC`, for points beyond hyperbolic radius 345, the largest that doubles hold.

    Attributes
    ----------
    kernel_ : Kernel or callable
        The kernel on the unit hyperboloid, with its parameter.
    method_ : str
        Where kernel values came from: "matrix", "matrices" (one for each binary problem), "rows" or "landmarks".
    support_vectors_ : (n_support, d + 1) array
        Unit Lorentz points that scores depend on: training points, or landmarks.
    support_ : (n_support,) array of int
        Their rows in X; of equal points one.
    n_support_ : (n_classes,) array of int
        How many there are of each class.
    dual_coef_ : (n_problems, n_support) array
        The score of x in a problem is ``sum_j dual_coef_j k(x_j, x) + intercept``.
    solutions_ : list of Solution
        As in `HyperbolicSVC`; `w` holds the coefficients of the samples of the problem.
    classes_, intercept_, gaps_, statuses_, n_iter_, probA_, probB_, n_features_in_, feature_names_in_
        As in `HyperbolicSVC`. `solutions_`, `probA_` and `probB_` are made of what `fit` has found when they are first
        asked for.

    Examples
    --------
    >>> from hypermargin import HyperbolicKernelSVC
    >>> from hypermargin.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(60, 3, random_state=0, return_X_y=True)
    >>> model = HyperbolicKernelSVC(C=10.0).fit(X, y)
    >>> model.predict(X[::60])
    array([0, 1, 2])
    >>> bool(len(model.support_) == model.n_support_.sum() < len(X))
    True
    """

    C: float = 1.0
    kernel: Any = "auto"
    t: float | str = "scale"
    power: float | str = "scale"
    gamma: float | str = "scale"
    n_landmarks: int | None = None
    multi_class: str = "ovo"
    geometry: str = "lorentz"
    curvature: float = 1.0
    class_weight: Any = None
    tol: float = 1e-6
    cache_size: float = 2000.0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    calibration: str = "softmax"
    rim: str = "clip"

    LARGEST_RADIUS = FARTHEST_RADIUS
    RULES: ClassVar = {
        **SolvedClassifier.RULES,
        "C": (POSITIVE[0], "positive and finite with a kernel"),
        "cache_size": POSITIVE,
        "n_landmarks": (or_none(at_least(1))[0], "a whole number of at least 1 or None"),
    }

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _solve_models(self, models: Sequence["HyperbolicKernelSVC"], X, y, sample_weight) -> list[tuple]:
        first = models[0]
        for model in models:
            model._check_parameters()
        classes, samples = first._training_set(X, y, sample_weight)
        kernel = first._kernel_for(samples)
        problems = first._problems(classes, samples, kernel, first._draw_landmarks(samples, kernel))
        if problems.method in ("rows", "matrices"):
            problems.warn_of_memory()
        answers = problems.solve([float(model.C) for model in models], self.tol, self.n_jobs, self.verbose >= 1)
        return [(classes, problems, answer) for answer in answers]

    def _problems(
        self, classes: np.ndarray, samples: TrainingSet, kernel: KernelFunction, landmarks: Landmarks | None
    ) -> KernelProblems:
        """All binary problems of a training set."""
        scheme = self._scheme_of(classes.size)
        return KernelProblems(samples, scheme.code, kernel, int(1e6 * float(self.cache_size)), landmarks, scheme.joint)

    def _set_fitted(self, classes: np.ndarray, problems: KernelProblems, answers: Results) -> None:
        self.kernel_: Any = problems.kernel
        self.classes_, self.method_ = classes, problems.method
        self._set_results(answers)
        samples = problems.samples
        if problems.landmarks is not None:
            assert problems.features is not None
            support = problems.landmarks.chosen
            normals = [
                solution.w @ problems.features[problems.rows_of(k)] for k, solution in enumerate(self.solutions_)
            ]
            self.dual_coef_ = problems.landmarks.coefficients(np.stack(normals))
            self._landmark_factor = problems.landmarks.factor
        else:
            coefficients = problems.coefficients(answers)
            support = np.flatnonzero(coefficients.any(axis=0))
            self.dual_coef_ = coefficients[:, support]
        assert samples.order is not None
        self.support_vectors_, self.support_ = samples.X[support], samples.order[support]
        self.n_support_ = np.histogram(support, samples.bounds)[0]
        self._warn_of_statuses()

    def binary_problems(self, X, y, sample_weight=None) -> list[Any]:
        """The problems that `fit` solves for this data, in the order of `solutions_`: what certificates are checked on.

        Of a fitted classifier they have its kernel and its landmarks.
        ``model.solutions_[k].certificate.verify(model.binary_problems(X, y)[k])`` is the lower bound, checked again;
        `enclosure` in the place of `verify` gives both bounds.
        """
        self._check_parameters()
        classes, samples = self._training_set(X, y, sample_weight, reset=False)
        fitted = hasattr(self, "kernel_")
        kernel = self.kernel_ if fitted else self._kernel_for(samples)
        landmarks = self._landmarks_among(samples) if fitted else self._draw_landmarks(samples, kernel)
        problems = self._problems(classes, samples, kernel, landmarks)
        return [problems.problem(k, float(self.C)) for k in range(len(problems.code))]

    def _landmarks_among(self, samples: TrainingSet) -> Landmarks | None:
        """The landmarks of a fitted classifier, found among the samples."""
        if self.method_ != "landmarks":
            return None
        places = {x.tobytes(): i for i, x in enumerate(samples.X)}
        chosen = [places.get(x.tobytes()) for x in self.support_vectors_]
        if None in chosen:
            raise ValueError("this data lacks some of the landmarks of the classifier: it was fitted to other data")
        return Landmarks(np.array(chosen), self._landmark_factor)

    def _training_set(self, X, y, sample_weight, *, reset: bool = True) -> tuple[np.ndarray, TrainingSet]:
        given = self._labelled_samples(X, y, sample_weight, reset=reset)
        samples = training_set(given.X, given.labels, given.weight, self._fitted_points(given))
        if given.kept is not None:
            samples = replace(samples, order=given.kept[samples.order])
        return given.classes, samples

    def _kernel_for(self, samples: TrainingSet) -> KernelFunction:
        kernel = chosen_kernel(self.kernel, self._kernel_parameters(), samples.X, samples.weight, self.curvature)
        if not isinstance(kernel, Kernel):
            kernel = checked_callable(kernel)
            require_definite(kernel, samples.X)
        else:
            warn_of_spread(kernel, samples.X)
        return kernel

    def _draw_landmarks(self, samples: TrainingSet, kernel: KernelFunction) -> Landmarks | None:
        if self.n_landmarks is None:
            return None
        if self.n_landmarks > len(samples.X):
            raise ValueError(
                f"n_landmarks = {self.n_landmarks} is more than there are different training points, {len(samples.X)}"
            )
        if isinstance(kernel, Kernel) and kernel.conditional:
            raise ValueError(f"landmarks need a positive definite kernel; {kernel.name!r} is conditionally so only")
        whole = as_one_problem(samples, kernel)
        return draw_landmarks(whole, int(self.n_landmarks), check_random_state(self.random_state))

    def _kernel_parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in PARAMETERS.values()}

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        self._check_space()
        check_kernel(self.kernel, self._kernel_parameters())

    # -- prediction --------------------------------------------------------------------------------------------------

    def _scores(self, points: Array) -> Array:
        support = self.support_vectors_
        if not len(support):
            return np.broadcast_to(self.intercept_, (len(points), self.intercept_.size)).copy()
        height = max(1, BLOCK_ENTRIES // len(support))
        prepared = polar_points(support) if isinstance(self.kernel_, Kernel) else support
        if len(support) >= MANY and len(points) >= MANY and is_local(self.kernel_, polar_points(points), prepared):
            near = NearPoints(self.kernel_, polar_points(points))
            return near.products(prepared, self.dual_coef_.T) + self.intercept_
        blocks = []
        for start in range(0, len(points), height):
            block = points[start : start + height]
            if isinstance(self.kernel_, Kernel):
                values = self.kernel_.between(polar_points(block), prepared)
            else:
                values = self.kernel_(block, prepared)
            blocks.append(values @ self.dual_coef_.T + self.intercept_)
        return np.concatenate(blocks)

    # -- storage -----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "kernel_" in state:
            state["kernel_"] = _named(state["kernel_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "kernel_" in state:
            named = state["kernel_"]
            state["kernel_"] = checked_callable(state["kernel"]) if named is None else KERNELS[named[0]](**named[1])
        super().__setstate__(state)

    def _stored(self) -> dict[str, Any]:
        named = _named(self.kernel_)
        if named is None:
            raise ValueError(
                "a model file holds no code: a classifier with a callable for a kernel cannot be kept in one"
            )
        solutions = self._plain_solutions()
        for state in solutions:
            state["certificate"] = {
                key: np.array(value) if isinstance(value, list) else value
                for key, value in state["certificate"].to_dict().items()
            }
        arrays = ("probA_", "probB_", "support_vectors_", "dual_coef_")
        return {
            **{name: getattr(self, name) for name in arrays},
            "kernel": list(named),
            "method": self.method_,
            "landmark_factor": getattr(self, "_landmark_factor", None),
            "solutions": solutions,
            "support": [self.support_, self.n_support_] if hasattr(self, "support_") else None,
        }

    def _restore(self, state: dict[str, Any], *beside: Array) -> None:
        super()._restore(state, state["dual_coef_"], *beside)
        if state["dual_coef_"].shape[1] != len(state["support_vectors_"]):
            raise ValueError("the coefficients do not fit the support vectors")
        name, parameters = state["kernel"]
        self.kernel_, self.method_ = KERNELS[name](**parameters), state["method"]
        self.support_vectors_, self.dual_coef_ = state["support_vectors_"], state["dual_coef_"]
        if state["landmark_factor"] is not None:
            self._landmark_factor = state["landmark_factor"]
        if state.get("support") is not None:  # files of before have none
            self.support_, self.n_support_ = state["support"]


def _named(kernel: KernelFunction) -> tuple[str, dict[str, float]] | None:
    """Name and parameters of a kernel of this package; None for a callable of one's own."""
    return (kernel.name, dict(vars(kernel))) if isinstance(kernel, Kernel) else None
