"""The classifier: a scikit-learn estimator around schemes, solvers and calibration, which do the work."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array
from hypermargin.data.blocks import BlockedSamples, ingest_blocks
from hypermargin.data.executors import BatchPolicy, DataSource, run_batched
from hypermargin.data.inputs import data_source, is_blocked
from hypermargin.estimators.base import keyword_only
from hypermargin.estimators.calibration import fit_of_blocks
from hypermargin.estimators.inputs import TrainingSet, training_set
from hypermargin.estimators.model_file import is_plain, storable
from hypermargin.estimators.multiclass import OneVsOne, Scheme
from hypermargin.estimators.radius import Coordinates, Hyperplanes, certified_radius, nearest_adversarial
from hypermargin.estimators.solved import Results, SolvedClassifier, calibrate
from hypermargin.geometry.lorentz import covector, curvature_scale
from hypermargin.geometry.validation import dimension_of
from hypermargin.problems import UncertaintySet
from hypermargin.problems.curve import CurveProblem
from hypermargin.progress import tracked
from hypermargin.solvers import Solution, Status, get_solver, make_solver, solve_path
from hypermargin.solvers.base import option_names
from hypermargin.solvers.curve import solve_curve_path
from hypermargin.solvers.exact.method import Exact
from hypermargin.solvers.exact.runs import QuickResult
from hypermargin.solvers.solving import costs_within_reach, solve_lazily

AnySamples = TrainingSet | BlockedSamples

#: Result of one binary problem; quick results are converted to a `Solution` when it is read.
Result = Solution | QuickResult

#: Options of the solver that mean one problem alone: the seconds it may take, the file of its journal.
ALONE = {"time_limit", "checkpoint"}
#: Problems of up to so many samples may leave their solutions to be made later, for which their samples are kept.
SMALL = 3000
#: Tasks per worker: enough to even out problems of unequal size.
TASKS_PER_WORKER = 8
#: The shapes that a boundary may have.
BOUNDARIES = ("geodesic", "curve")


@storable
@keyword_only
@dataclass(eq=False, repr=False)
class HyperbolicSVC(SolvedClassifier):
    """Large-margin classifier in hyperbolic space.

    Every binary problem is a `MarginProblem`, solved by the solver of that name; `solutions_` keeps what is proved of
    each. Class probabilities come from a calibration on the training scores.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the risk; ``inf`` asks for the hard margin where the solver can.
    solver : str, default="exact"
        One of `hypermargin.available_methods()`.
    boundary : {"geodesic", "curve"}, default="geodesic"
        "curve" allows generalised hyperplanes ``x * w + b = 0``: hypercycles, horocycles and circles (docs/curves.md).
        That is a convex problem with a method of its own, so `solver` stays at its default.
    loss : str, optional
        The loss of the binary problems, one that the solver minimises; its own first choice by default ("hinge" for
        "exact"). ``loss="asinh"`` asks for the original objective, whose risk grows like a logarithm: for outliers.
    multi_class : {"auto", "ovo", "ovr"}, default="auto"
        One-vs-one votes, ties broken by probability; one-vs-rest compares calibrated scores. "auto" is one-vs-one for
        up to 20 classes, and one-vs-rest for more (benchmarks/bench_schemes.py).
    geometry : {"lorentz", "poincare", "klein", "halfspace", "tangent", "hyperboloid", "polar", "lorentz-last"}, \
default="lorentz"
        What the columns of X are. Points off the manifold are an error that says what they look like. "auto" takes what
        `hypermargin.inspect` finds surest, and warns which.
    curvature : float, default=1.0
        The points lie in the space of curvature ``-curvature``.
    class_weight : dict or "balanced", optional
        Factors of `sample_weight` by class, in the risk and in the calibration.
    fit_intercept : bool, default=False
        Classify by ``x * w + intercept``; an error with solvers that do not declare the capability "intercept".
    allow_timelike : bool, default=False
        Drop the constraint ``q(w) >= 0``; an error with solvers that do not declare the capability "timelike".
    uncertainty : UncertaintySet, optional
        A set around each training point, such as ``GeodesicBall(0.1)``; margins are then the worst over it. Sizes are
        lengths in the space of curvature ``-curvature``; with one per sample they follow the samples into the binary
        problems. An error with solvers that do not declare the capability "uncertainty".
    tol : float, default=1e-6
        The relative gap to aim for in every binary problem.
    refine : bool, default=False
        Follow the solver by a local descent on its loss, which keeps the bound and never raises the objective. An error
        with ``C=inf``, an intercept or an uncertainty set, which the descent does not handle.
    solver_options : dict, optional
        Further options of the solver.
    n_jobs : int, optional
        Binary problems solved at the same time, as joblib has it; the answer does not depend on it.
    random_state : int, RandomState or None
        Seeds solvers that have an option of that name, one seed per binary problem; others ignore it.
    verbose : int, default=0
        1 or more shows a progress bar over the binary problems.
    calibration : {"softmax", "platt"}, default="softmax"
        How the scores of one-vs-rest become probabilities: by one softmax that is fitted to those of all classes
        together, or by Platt scaling of each class alone, divided by the sum (paper, app:platt).
    rim : {"clip", "drop", "error"}, default="clip"
        What is done with points beyond hyperbolic radius 18, to which double precision tells hyperplanes apart: they
        are drawn in to it along their rays, with a warning; left out of the fit (new points are drawn in); or refused.

    Attributes
    ----------
    classes_ : (n_classes,) array
    coef_ : (n_problems, d + 1) array
        Normals w on the unit hyperboloid; the score of a point is the Minkowski product ``x * w`` plus the intercept.
        Positive scores speak for the second class of a pair (pairs in the order (0, 1), (0, 2), ..., (1, 2), ...), in
        one-vs-rest for the class against the rest, and with two classes for ``classes_[1]``.
    intercept_ : (n_problems,) array
    solutions_ : list of Solution
        One per binary problem, with bound, status and certificate.
    gaps_ : (n_problems,) array
        Relative gaps, infinite where the solver gives no bound.
    statuses_ : list of Status
    n_iter_ : (n_problems,) array of int
    probA_, probB_ : (n_problems,) arrays
        Platt coefficients: ``P(+1) = 1/(1 + exp(probA_ f + probB_))``; in one-vs-rest ``-(probA_ f + probB_)`` are the
        logits of a softmax unless ``calibration="platt"``.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X had names.

    Notes
    -----
    ``predict(X)`` is always ``classes_[argmax(predict_proba(X))]``. Where the probabilities alone would name another
    class than the votes (or, with two classes, than the sign of the score), `predict_proba` returns the distribution
    nearest to them, in least squares and in Kullback-Leibler divergence alike, in which the predicted class is most
    probable.

    With skops, ``skops.io.load(file, trusted=["hypermargin.estimators.svc.HyperbolicSVC"])`` is enough, certificates
    included. `hypermargin.estimators.save_model` needs no such list.

    Examples
    --------
    >>> from hypermargin import HyperbolicSVC
    >>> from hypermargin.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(60, 3, random_state=0, return_X_y=True)
    >>> model = HyperbolicSVC(C=10.0).fit(X, y)
    >>> model.predict(X[::60])
    array([0, 1, 2])
    >>> model.statuses_[0].name
    'OPTIMAL'
    >>> bool(model.gaps_.max() <= 1e-6)
    True
    """

    C: float = 1.0
    solver: str = "exact"
    boundary: str = "geodesic"
    multi_class: str = "auto"
    geometry: str = "lorentz"
    curvature: float = 1.0
    class_weight: Any = None
    fit_intercept: bool = False
    allow_timelike: bool = False
    uncertainty: Any = None
    tol: float = 1e-6
    refine: bool = False
    solver_options: dict | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    loss: str | None = None
    calibration: str = "softmax"
    rim: str = "clip"

    RULES: ClassVar = {
        **SolvedClassifier.RULES,
        "C": (lambda value: isinstance(value, Real) and float(value) > 0.0, "positive (inf asks for the hard margin)"),
        "solver_options": (lambda value: isinstance(value, dict | None), "a dict or None"),
        "boundary": (lambda value: value in BOUNDARIES, "one of 'geodesic', 'curve'"),
    }

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _solve_models(self, models: Sequence["HyperbolicSVC"], X, y, sample_weight) -> list[tuple]:
        Cs, (*_, options) = [float(m.C) for m in models], [m._check_parameters() for m in models]
        classes, samples = models[0]._training_set(X, y, sample_weight)
        del X, y  # Large data should not be held twice while the solver works.
        scheme = self._scheme_of(classes.size)
        solve = Solve(Cs, self.allow_timelike, self.boundary == "curve", self.solver, self.tol)
        choices = self._choices(options, scheme.n_problems)
        paths = solve_problems(solve, samples, scheme.code, choices, self.n_jobs, self.verbose >= 1)
        return [(classes, samples, scheme, [path[i] for path in paths]) for i in range(len(models))]

    def _set_fitted(self, classes: np.ndarray, samples: AnySamples, scheme: Scheme, results: list[Any]) -> None:
        self.classes_ = classes
        if isinstance(samples, BlockedSamples):
            found = Results(results, partial(fit_of_blocks, samples.source, scheme.code, results, scheme.joint))
        else:
            scored = partial(_training_scores, samples, scheme.code, results)
            found = Results(results, partial(calibrate, samples, scheme.code, scored, scheme.joint))
        if any(isinstance(result, QuickResult) for result in results):
            code, C, timelike = scheme.code, float(self.C), self.allow_timelike
            found.problem_of = lambda k: samples.problem(code[k], C, timelike)
        else:  # there may be many samples, which are not kept for a calibration that is put off
            platt = found.platt
            found = Results(results, lambda: platt)
        self._set_results(found)
        self._warn_of_statuses()

    def _set_results(self, found: Results) -> None:
        super()._set_results(found)
        self.coef_ = np.stack([result.w for result in found.results])

    def binary_problems(self, X, y, sample_weight=None) -> list[Any]:
        """The problems that `fit` solves for this data, in the order of `solutions_`: what certificates are checked on.

        Each is a `MarginProblem`, or a `CurveProblem` where the boundary is a curve.
        ``model.solutions_[k].certificate.verify(model.binary_problems(X, y)[k])`` is the lower bound, checked again.
        """
        self._check_parameters()
        classes, samples = self._training_set(X, y, sample_weight, reset=False)
        scheme = self._scheme_of(classes.size)
        problems = [samples.problem(row, float(self.C), self.allow_timelike) for row in scheme.code]
        return [CurveProblem(problem) for problem in problems] if self.boundary == "curve" else problems

    def _training_set(self, X, y, sample_weight, *, reset: bool = True) -> tuple[np.ndarray, AnySamples]:
        """The classes, and the samples of positive weight in canonical order; in blocks where X is."""
        self._note_manifold(X, reset=reset)
        if is_blocked(X):
            return self._blocked_set(X, y, sample_weight, reset=reset)
        given = self._labelled_samples(X, y, sample_weight, reset=reset)
        uncertainty = self.uncertainty
        if isinstance(uncertainty, UncertaintySet):
            uncertainty.check(len(y), dimension_of(given.X.shape[1], self.geometry))
            uncertainty = uncertainty.scaled(curvature_scale(self.curvature))
        if given.kept is not None and hasattr(uncertainty, "take"):
            uncertainty = uncertainty.take(given.kept)
        points = self._fitted_points(given)
        return given.classes, training_set(given.X, given.labels, given.weight, points, uncertainty)

    def _blocked_set(self, X, y, sample_weight, *, reset: bool) -> tuple[np.ndarray, BlockedSamples]:
        """The classes and the samples of a file, a source of chunks, a device or a cluster, which stay there."""
        self._check_blocked()
        rows = data_source(X, y, sample_weight)
        classes, width, samples = ingest_blocks(rows, self, self.uncertainty, reset=reset)
        if reset:
            self._note_columns(X, y, sample_weight, width)
        return classes, samples

    def _check_blocked(self) -> None:
        """Refuse what needs the samples in memory."""
        loss = self.loss or (self.solver_options or {}).get("loss", "hinge")
        for wanted, setting in (
            (self.boundary == "curve", "boundary='curve'"),
            (self.solver != "exact", f"solver={self.solver!r}"),
            (loss != "hinge", f"loss={loss!r}"),
            (self.refine, "refine=True"),
        ):
            if wanted:
                raise ValueError(
                    f"{setting} needs the samples in memory: leave it out, or pass a NumPy array of as many as fit"
                )

    def _check_parameters(self) -> dict[str, Any]:
        """Refuse parameters that make no sense; return the options of the solver."""
        self._check_space()
        options = dict(self.solver_options or {})
        options |= self._loss_option(options)
        for name in ("fit_intercept", "random_state", "refine"):
            if name in options:
                raise ValueError(f"pass {name} to {type(self).__name__} itself, not in solver_options")
        if self.boundary == "curve":
            self._check_curve()
        if self.fit_intercept:
            if "intercept" not in get_solver(self.solver).capabilities:
                raise ValueError(f"solver {self.solver!r} does not fit an intercept; use fit_intercept=False")
            options["fit_intercept"] = True
        make_solver(self.solver, **options)
        return options

    def _check_curve(self) -> None:
        """Curves have their own method, which takes no part of what the others may."""
        if self.solver != "exact":
            raise ValueError(f"boundary='curve' has a method of its own; leave out solver={self.solver!r}")
        for name in ("fit_intercept", "allow_timelike", "refine", "solver_options", "uncertainty", "loss"):
            if getattr(self, name):
                raise ValueError(f"boundary='curve' does not go with {name}: leave it out")
        if not np.isfinite(float(self.C)):
            raise ValueError("boundary='curve' needs a finite C")

    def _loss_option(self, options: dict[str, Any]) -> dict[str, Any]:
        """The option that chooses the loss; none for solvers that have one loss only."""
        solver = get_solver(self.solver)
        if self.loss is None:
            return {}
        if "loss" in options:
            raise ValueError("loss is given twice: leave it out of solver_options")
        if self.loss not in solver.losses:
            raise ValueError(
                f"solver {self.solver!r} does not minimise the loss {self.loss!r}; it has {', '.join(solver.losses)}"
            )
        return {"loss": self.loss} if "loss" in option_names(solver) else {}

    def _choices(self, options: dict[str, Any], n_problems: int) -> list[dict[str, Any]]:
        """The options of the solver for each problem; seeds are drawn here, so that they do not depend on `n_jobs`."""
        options = {**options, "refine": self.refine}
        if self.random_state is None or "random_state" not in option_names(get_solver(self.solver)):
            return [options] * n_problems
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=n_problems)
        return [{**options, "random_state": seed} for seed in seeds.tolist()]

    # -- storage -----------------------------------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        solutions = self._plain_solutions()
        for state in solutions:
            if not is_plain(state["certificate"]):
                state["certificate"] = None
        return {"probA_": self.probA_, "probB_": self.probB_, "solutions": solutions}

    # -- PyTorch -----------------------------------------------------------------------------------------------------

    def to_torch(self) -> Any:
        """A `torch.nn.Module` in double precision whose softmax of logits is `predict_proba`, to train or export.

        For two classes or one-vs-rest, with straight boundaries or curves. Where scores of two classes are calibrated
        against their sign, `predict_proba` follows the sign and the module the calibration.
        """
        from hypermargin.torch_head import LorentzHead

        check_is_fitted(self)
        scheme = self._scheme()
        if isinstance(scheme, OneVsOne):
            raise ValueError("one-vs-one has votes and no logits: fit with multi_class='ovr' for to_torch")
        head = LorentzHead(self.n_features_in_, self.classes_.tolist(), self.geometry, self.curvature, self.calibration)
        A, B = self.probA_, self.probB_
        return head.set_planes(-A[:, None] * self.coef_, -(A * self.intercept_ + B))

    @classmethod
    def from_torch(cls, head: Any) -> "HyperbolicSVC":
        """The classifier that a `LorentzHead` has become by training; its solutions have no bounds.

        `head` is a module of `to_torch`, or a ``hypermargin.torch_head.LorentzHead`` of its own.
        """
        model = cls(
            boundary="curve",
            multi_class="ovr",
            geometry=head.geometry,
            curvature=head.curvature,
            calibration=head.calibration,
        )
        model.classes_, model.n_features_in_ = np.array(head.classes), head.n_features
        normals, offsets = head.planes()
        solutions = [
            Solution(w, np.inf, -np.inf, Status.CONVERGED, "torch", intercept=float(b))
            for w, b in zip(normals, offsets, strict=True)
        ]
        model._set_results(Results(solutions, lambda: (np.full(len(offsets), -1.0), np.zeros(len(offsets)))))
        return model

    # -- prediction --------------------------------------------------------------------------------------------------

    def _hyperplanes(self) -> Hyperplanes:
        return Hyperplanes(self._scheme(), self.coef_, self.intercept_)

    def _scores(self, points: Array) -> Array:
        return self._hyperplanes().scores(points)

    def certified_radius(self, X) -> Array:
        """A distance within which the prediction of each point cannot change, shape (n,); infinite where it never does.

        Exact with two classes and in one-vs-rest; in one-vs-one a lower bound (see `estimators.radius`). Distances are
        those of the space of curvature ``-curvature``.
        """
        points = self._points(X)
        return certified_radius(points, self._hyperplanes()) / curvature_scale(self.curvature)

    def nearest_adversarial(self, X) -> tuple[Array, Array]:
        """The nearest point that is predicted differently, in the coordinates of X, and its distance: (n, width), (n,).

        It lies just beyond the boundary. In one-vs-one it is the nearest that was found, no nearer than
        `certified_radius`. Where there is none that double precision can write in these coordinates the row is NaN and
        the distance infinite.
        """
        space = Coordinates(self.geometry, self.curvature, self.n_features_in_)
        coordinates, distance = nearest_adversarial(self._points(X), self._hyperplanes(), space)
        return coordinates, distance / curvature_scale(self.curvature)


# -- solving all binary problems --------------------------------------------------------------------------------------


def _training_scores(samples: TrainingSet, code: np.ndarray, results: Sequence[Any], k: int) -> Array:
    """Scores of the training points of problem k, class by class."""
    normal = covector(results[k].w)
    return np.concatenate([samples.X[rows] @ normal + results[k].intercept for rows in samples.blocks(code[k])])


@dataclass(frozen=True, eq=False)  # hashed by identity, as joblib with Dask needs it: lists have no hash
class Solve:
    """Solves rows of a code matrix: the binary problems of a training set, for every C."""

    Cs: Sequence[float]
    allow_timelike: bool
    curves: bool
    method: str
    tol: float

    def __call__(self, samples: AnySamples, code: np.ndarray, options: Sequence[dict[str, Any]]) -> list[list[Result]]:
        """The results of every row; `options` are those of the solver for each, and curves have none."""
        quick = self._quick_solver(samples, options[0])
        return [self._row(samples, row, own, quick) for row, own in zip(code, options, strict=True)]

    def _row(self, samples: AnySamples, row: np.ndarray, options: dict[str, Any], quick: Exact | None) -> list[Result]:
        problem = samples.problem(row, self.Cs[0], self.allow_timelike)
        if self.curves:
            return [*solve_curve_path(CurveProblem(problem), self.Cs, self.tol)]
        if quick is not None and problem.n_samples <= SMALL:
            return [solve_lazily(problem, quick, self.tol)]
        return [*solve_path(problem, self.Cs, self.method, self.tol, **options)]

    def on_source(self, source: DataSource, samples: BlockedSamples, row: np.ndarray, own: dict) -> list[Result]:
        """The results of one problem, whose functions are mapped together with those of others."""
        return self(replace(samples, source=source), row[None], [own])[0]

    def _quick_solver(self, samples: AnySamples, options: dict[str, Any]) -> Exact | None:
        """The solver whose results may be converted to solutions later; None where there is no such solver."""
        if isinstance(samples, BlockedSamples) or len(self.Cs) > 1 or self.method != "exact" or options["refine"]:
            return None
        weight = np.ones(1) if samples.weight is None else samples.weight
        if not costs_within_reach(self.Cs[0] * float(weight.min()), self.Cs[0] * float(weight.max())):
            return None  # which is an error of `solve_path`
        return Exact(**{name: value for name, value in options.items() if name != "refine"})


def solve_problems(
    solve: Solve,
    samples: AnySamples,
    code: np.ndarray,
    options: Sequence[dict[str, Any]],
    n_jobs: int | None,
    progress: bool,
) -> list[list[Result]]:
    """For every row of the code matrix, in order, the results for every C."""
    n = len(code)
    if isinstance(samples, BlockedSamples) and _batch_pays(samples, code, options[0]):
        rows = zip(code, options, strict=True)
        works = [partial(solve.on_source, samples=samples, row=row, own=own) for row, own in rows]
        results: Iterable[list[Result]] = run_batched(samples.source, works)
    else:  # each pass over blocks has all machines that they are on
        workers = 1 if isinstance(samples, BlockedSamples) else min(effective_n_jobs(n_jobs), n)
        tasks = np.array_split(
            np.arange(n), min(n, workers * TASKS_PER_WORKER if workers > 1 else n if progress else 1)
        )
        # Some backends ("multiprocessing") hand everything back at the end; progress is then not seen, no more.
        piecewise = workers == 1 or getattr(get_active_backend()[0], "supports_return_generator", False)
        results = chain.from_iterable(
            Parallel(n_jobs=n_jobs if workers > 1 else 1, return_as="generator" if piecewise else "list")(
                delayed(solve)(samples, code[rows], [options[k] for k in rows]) for rows in tasks
            )
        )
    return list(tracked(results, "binary problems", n, closing=True) if progress else results)


def _batch_pays(samples: BlockedSamples, code: np.ndarray, options: dict[str, Any]) -> bool:
    """Whether all problems should be solved as one batch, so that the data is read once for all of them."""
    if len(code) == 1 or not ALONE.isdisjoint(options):
        return False
    same_points = samples.uncertainty is None and bool(np.all(code))
    policy = samples.source.batch_policy
    return policy is BatchPolicy.ALWAYS or (policy is BatchPolicy.SAME_POINTS and same_points)
