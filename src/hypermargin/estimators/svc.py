"""The classifier: a scikit-learn estimator around schemes, solvers and calibration, which do the work."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from hypermargin.arrays import Array
from hypermargin.data.blocks import BlockedSamples, ingest_blocks
from hypermargin.data.ingest import numbered
from hypermargin.data.inputs import data_source, is_blocked
from hypermargin.estimators.calibration import fit_platt_of_blocks
from hypermargin.estimators.fitting import LazyResults, Result, calibrate_normals, solve_curves, solve_problems
from hypermargin.estimators.inputs import TrainingSet, training_set
from hypermargin.estimators.model_file import is_plain, storable
from hypermargin.estimators.multiclass import Scheme, make_scheme
from hypermargin.estimators.prediction import Hyperplanes
from hypermargin.estimators.radius import Coordinates, certified_radius, nearest_adversarial
from hypermargin.estimators.solved import SolvedClassifier
from hypermargin.geometry.lorentz import curvature_scale
from hypermargin.problems import MarginProblem, UncertaintySet
from hypermargin.problems.curve import CurveProblem
from hypermargin.solvers import Solution, get_solver, make_solver
from hypermargin.solvers.base import option_names
from hypermargin.solvers.exact.finish import QuickResult

AnySamples = TrainingSet | BlockedSamples

#: The shapes that a boundary may have.
BOUNDARIES = ("geodesic", "curve")


@storable
@dataclass(eq=False, repr=False)
class HyperbolicSVC(SolvedClassifier):
    """Large-margin classifier in hyperbolic space.

    Every binary problem is a `MarginProblem`, solved by the solver of that name; `solutions_` keeps what is proved of
    each. Class probabilities come from Platt scaling on the training scores (paper, app:platt).

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
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one votes, ties broken by probability; one-vs-rest compares Platt-scaled scores.
    geometry : {"lorentz", "poincare", "klein", "halfspace", "tangent"}, default="lorentz"
        What the columns of X are. Points off the manifold are an error that says what they look like. Tangent vectors
        at the origin may be any numbers; those beyond hyperbolic radius 18 are drawn in to it, with a warning.
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
        Platt coefficients: ``P(+1) = 1/(1 + exp(probA_ f + probB_))``.
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
    """

    C: float = 1.0
    solver: str = "exact"
    boundary: str = "geodesic"
    multi_class: str = "ovo"
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

    # -- fitting -----------------------------------------------------------------------------------------------------

    def _solve_models(self, models: Sequence["HyperbolicSVC"], X, y, sample_weight) -> list[tuple]:
        Cs, options = [model._checked_C() for model in models], models[0]._check_parameters()
        classes, samples = models[0]._training_set(X, y, sample_weight)
        del X, y  # Large data should not be held twice while the solver works.
        scheme = make_scheme(self.multi_class, classes.size)
        paths: Sequence[Sequence[Result]]
        if self.boundary == "curve":
            assert isinstance(samples, TrainingSet)  # others were refused
            paths = solve_curves(samples, scheme.code, Cs, self.tol, self.n_jobs, self.verbose >= 1)
        else:
            paths = solve_problems(
                samples,
                scheme.code,
                Cs=Cs,
                allow_timelike=self.allow_timelike,
                method=self.solver,
                tol=self.tol,
                refine=self.refine,
                options=options,
                seeds=self._seeds(scheme.n_problems),
                n_jobs=self.n_jobs,
                progress=self.verbose >= 1,
            )
        return [(classes, samples, scheme, [path[i] for path in paths]) for i in range(len(models))]

    def _set_fitted(self, classes: np.ndarray, samples: AnySamples, scheme: Scheme, results: list[Result]) -> None:
        self.classes_ = classes
        if isinstance(samples, TrainingSet) and any(isinstance(result, QuickResult) for result in results):
            problem_of = partial(_problem, samples, scheme.code, float(self.C), self.allow_timelike)
            self._set_results(LazyResults(samples, scheme.code, problem_of, results))
            self._set_numbers(results)
        else:
            self._set_solutions([result for result in results if isinstance(result, Solution)])
            self._calibrate(samples, scheme)
        self._warn_of_statuses()

    def _set_numbers(self, results: Sequence[Any]) -> None:
        super()._set_numbers(results)
        self.coef_ = np.stack([result.w for result in results])

    def _calibrate(self, samples: AnySamples, scheme: Scheme) -> None:
        """Platt scaling of every binary problem on its own training scores."""
        if isinstance(samples, BlockedSamples):
            self.probA_, self.probB_ = fit_platt_of_blocks(samples.source, scheme.code, self.coef_, self.intercept_)
        else:
            self.probA_, self.probB_ = calibrate_normals(samples, scheme.code, self.coef_, self.intercept_)

    def binary_problems(self, X, y, sample_weight=None) -> list[Any]:
        """The problems that `fit` solves for this data, in the order of `solutions_`: what certificates are checked on.

        Each is a `MarginProblem`, or a `CurveProblem` where the boundary is a curve.
        ``model.solutions_[k].certificate.verify(model.binary_problems(X, y)[k])`` is the lower bound, checked again.
        """
        C = self._checked_C()
        self._check_parameters()
        classes, samples = self._training_set(X, y, sample_weight, reset=False)
        scheme = make_scheme(self.multi_class, classes.size)
        problems = [samples.problem(row, C, self.allow_timelike) for row in scheme.code]
        return [CurveProblem(problem) for problem in problems] if self.boundary == "curve" else problems

    def _training_set(self, X, y, sample_weight, *, reset: bool = True) -> tuple[np.ndarray, AnySamples]:
        """The classes, and the samples of positive weight in canonical order; in blocks where X is."""
        if is_blocked(X):
            return self._blocked_set(X, y, sample_weight, reset=reset)
        given = self._labelled_samples(X, y, sample_weight, reset=reset)
        uncertainty = self.uncertainty
        if isinstance(uncertainty, UncertaintySet):
            uncertainty.check(len(y), given.X.shape[1] - (self.geometry == "lorentz"))
            uncertainty = uncertainty.scaled(curvature_scale(self.curvature))
        if given.kept is not None and hasattr(uncertainty, "take"):
            uncertainty = uncertainty.take(given.kept)
        with numbered(kept=given.kept):
            samples = training_set(given.X, given.labels, given.weight, self.geometry, self.curvature, uncertainty)
        return given.classes, samples

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

    def _checked_C(self) -> float:
        if not (isinstance(self.C, Real) and self.C > 0.0):
            raise ValueError(f"C must be positive (inf asks for the hard margin), got {self.C!r}")
        return float(self.C)

    def _check_parameters(self) -> dict[str, Any]:
        """Refuse parameters that make no sense; return the options of the solver."""
        if not (isinstance(self.tol, Real) and self.tol > 0.0):
            raise ValueError(f"tol must be positive, got {self.tol!r}")
        if not isinstance(self.verbose, Integral):
            raise ValueError(f"verbose must be an integer, got {self.verbose!r}")
        make_scheme(self.multi_class, 3)
        self._check_space()
        if self.solver_options is not None and not isinstance(self.solver_options, dict):
            raise ValueError(f"solver_options must be a dict or None, got {self.solver_options!r}")
        options = dict(self.solver_options or {})
        options |= self._loss_option(options)
        for name in ("fit_intercept", "random_state", "refine"):
            if name in options:
                raise ValueError(f"pass {name} to {type(self).__name__} itself, not in solver_options")
        if self.boundary not in BOUNDARIES:
            raise ValueError(f"boundary must be one of {', '.join(map(repr, BOUNDARIES))}, got {self.boundary!r}")
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

    def _seeds(self, n_problems: int) -> list[int] | None:
        """One seed per problem, drawn before any is solved so that they do not depend on `n_jobs`."""
        if self.random_state is None or "random_state" not in option_names(get_solver(self.solver)):
            return None
        return check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=n_problems).tolist()

    # -- storage -----------------------------------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        solutions = [{**vars(solution), "status": solution.status.name} for solution in self.solutions_]
        for state in solutions:
            state["history"] = {key: np.asarray(values) for key, values in state["history"].items()}
            state["info"] = {key: value for key, value in state["info"].items() if is_plain(value)}
            if not is_plain(state["certificate"]):
                state["certificate"] = None
        return {"probA_": self.probA_, "probB_": self.probB_, "solutions": solutions}

    def _restore(self, state: dict[str, Any]) -> None:
        # Every scheme has at least that many problems; the matrix of a scheme for more classes would fill the memory.
        if self.classes_.size - 1 > len(state["solutions"]):
            raise ValueError("there are fewer solutions than the number of classes asks for")
        n_problems = make_scheme(self.multi_class, self.classes_.size).n_problems
        if any(len(part) != n_problems for part in (state["probA_"], state["probB_"], state["solutions"])):
            raise ValueError("calibration and solutions do not fit the number of classes")
        self.probA_, self.probB_ = state["probA_"], state["probB_"]
        self._set_solutions([Solution.from_dict(solution) for solution in state["solutions"]])

    # -- prediction --------------------------------------------------------------------------------------------------

    def _hyperplanes(self) -> Hyperplanes:
        return Hyperplanes(self._prediction(), self.coef_, self.intercept_)

    def _scores(self, points: Array) -> Array:
        return self._hyperplanes().scores(points)

    # -- robustness --------------------------------------------------------------------------------------------------

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
        space = Coordinates(self.geometry, self.curvature)
        coordinates, distance = nearest_adversarial(self._points(X), self._hyperplanes(), space)
        return coordinates, distance / curvature_scale(self.curvature)


def _problem(samples: TrainingSet, code: np.ndarray, C: float, allow_timelike: bool, k: int) -> MarginProblem:
    return samples.problem(code[k], C, allow_timelike)
