"""The methods that are compared: the paper's, the exact one, and what a practitioner would use at once.

The paper's methods are here as its public code has them, flaws included, so that its numbers can be compared like with
like; docs/reproduction.md lists the differences from the methods of the library. In one-vs-one a pair's vote goes by
the Platt-scaled score, and ties go to the first class.
"""

import tomllib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from hypermargin.arrays import Array
from hypermargin.estimators import HyperbolicSVC
from hypermargin.estimators.multiclass import OneVsOne, Scheme
from hypermargin.geometry.lorentz import covector, quadratic_form
from hypermargin.geometry.models import from_lorentz
from hypermargin.problems import MarginProblem
from hypermargin.problems.losses import SQRT2, get_loss
from hypermargin.solvers import Solution
from hypermargin.solvers.common.conic import minimise_hinges, solve_conic
from hypermargin.solvers.paper.extraction import candidates, paper_eta
from hypermargin.solvers.paper.sdp import smat, svec, triangle
from hypermargin.solvers.pgd import project
from hypermargin_studies.datasets import REAL

LEARNING_RATE, EPOCHS, EPS, FIRST_STRETCH = 0.001, 4000, 1e-6, 0.01


class PublishedVotes(OneVsOne):
    """One-vs-one by votes of Platt-scaled scores, ties to the first class."""

    def winner(self, scores: Array) -> np.ndarray:
        return np.argmax(self.votes(self.log_odds(scores)), axis=1)


class AsPublished(HyperbolicSVC):
    """A classifier whose normals are chosen again, problem by problem, from what the solver returned."""

    @abstractmethod
    def choose(self, problem: MarginProblem, solution: Solution) -> tuple[Array, float | None]:
        """The normal that the public code would have taken, shape (d + 1,), and the relaxation's value if any."""

    def _set_fitted(self, classes: np.ndarray, samples: Any, scheme: Scheme, results: list[Any]) -> None:
        problems = [samples.problem(row, float(self.C), self.allow_timelike) for row in scheme.code]
        chosen = [self._with_choice(problem, found) for problem, found in zip(problems, results, strict=True)]
        super()._set_fitted(classes, samples, scheme, chosen)

    def _scheme(self) -> Scheme:
        scheme = super()._scheme()
        return PublishedVotes(self.classes_.size, scheme.platt) if isinstance(scheme, OneVsOne) else scheme

    def _with_choice(self, problem: MarginProblem, solution: Solution) -> Solution:
        w, value = self.choose(problem, solution)
        info = dict(solution.info)
        if value is not None:
            # The public code does not refuse timelike w here, so neither does this figure.
            objective = 0.5 * float(quadratic_form(w)) + problem.risk(w, "asinh")
            info |= {"relaxation_value": value, "paper_eta": paper_eta(objective, value)}
        return replace(solution, w=w, objective=problem.objective(w, solution.loss), info=info)


class PublishedSDP(AsPublished):
    """The semidefinite relaxation with the choice among candidates of the public code."""

    def choose(self, problem: MarginProblem, solution: Solution) -> tuple[Array, float]:
        relaxed = solve_as_stated(problem)
        drawn = candidates(relaxed.W, relaxed.w, seed=self.random_state)
        offered = [c.w for c in drawn if c.name != "eigenvector (-)"]
        feasible = [w for w in offered if quadratic_form(w) >= 0.0] or offered
        return min(feasible, key=lambda w: problem.risk(w, "asinh")), relaxed.value


class PublishedMoment(AsPublished):
    """The moment relaxation, of which the first moments are read off; by the SDP, what they tend to."""

    def choose(self, problem: MarginProblem, solution: Solution) -> tuple[Array, float]:
        w = solution.info.get("risk_minimiser", solution.info["w"])
        return np.array(w), solution.info["relaxation_value"]


class PublishedPGD(AsPublished):
    """Projected gradient descent from the start of the public code, and its number of steps for all data."""

    def choose(self, problem: MarginProblem, solution: Solution) -> tuple[Array, None]:
        w = mirrored_start(problem)
        if quadratic_form(w) <= 0.0:
            space = (1.0 + FIRST_STRETCH) * w[1:]
            w = np.r_[np.copysign(np.sqrt(max(float(space @ space) - EPS, 0.0)), w[0]), space]
        loss, rows, costs = get_loss("asinh"), problem.signed_covectors, problem.costs
        best, least = w, np.inf
        for _ in range(EPOCHS + 1):
            margins = rows @ w
            value = 0.5 * float(w[1:] @ w[1:] - w[0] * w[0]) + float(costs @ loss.value(margins))
            best, least = (w, value) if value < least else (best, least)
            w = onto_cone(w - LEARNING_RATE * ((costs * loss.derivative(margins)) @ rows - covector(w)))
        return best, None


def onto_cone(w: Array) -> Array:
    """w where ``q(w) > 0``, else the nearest vector with ``q = EPS`` up to terms of order EPS, shape (d + 1,)."""
    radius, time = float(np.sqrt(w[1:] @ w[1:])), abs(float(w[0]))
    along = radius + time
    if radius > time:
        return w
    if radius == 0.0 or along**2 < 1e3 * EPS:
        return project(w, EPS)
    across = EPS / along
    return np.r_[np.copysign(0.5 * (along - across), w[0]), w[1:] * (0.5 * (along + across) / radius)]


def mirrored_start(problem: MarginProblem) -> Array:
    """The minimiser of ``|w|^2/2 + sum_{i > 0} c_i max(0, 1 - y'_i (x_i . w))``, ``y'`` in {-3, +1}, shape (d + 1,)."""
    rows = np.where(problem.y > 0.0, 1.0, -3.0)[:, None] * problem.X
    width, costs = problem.dim + 1, np.r_[0.0, problem.costs[1:]]
    return minimise_hinges(np.eye(width), np.zeros(width), rows, np.ones(len(rows)), costs, tol=1e-9)


#: Relative and absolute accuracy: MOSEK's default, which the public code does not change.
TOL, MAX_ITER = 1e-8, 400


class StatedRelaxation(NamedTuple):
    """Second moments W, first moments w, and the value of the relaxation."""

    W: Array
    w: Array
    value: float


def solve_as_stated(problem: MarginProblem) -> StatedRelaxation:
    """Minimise ``Tr(GW)/2 + sum_i c_i xi_i`` over ``Z = [[1, w'], [w, W]] >= 0`` and ``xi >= 0``.

    Constraints: ``Tr(GW) >= 0`` and ``z_i . w + sqrt(2) xi_i >= 1`` for every sample (paper, eq.
    soft-margin-first-order-sdp). The unknowns are ``(svec Z, xi)``. `hypermargin.solvers.paper.sdp` solves the
    same program in a frame in which it is well scaled. The value is the same, but where the optimum is no single point,
    and W has no largest one, an interior-point method returns a point that depends on coordinates. With those of the
    data the answers are near to the ones that the paper reports.
    """
    rows, costs = problem.signed_covectors, problem.costs
    n, k = rows.shape
    i, j, weight = triangle(k + 1)
    entries = len(i)
    trace = svec(np.diag(np.r_[0.0, -1.0, np.ones(k - 1)]))  # G, and nothing for the corner of Z
    in_margins = np.zeros((n, entries))
    first_row = (i == 0) & (j > 0)
    in_margins[:, first_row] = rows[:, j[first_row] - 1] / weight[first_row]
    corner = ((i == 0) & (j == 0)).astype(np.float64)
    slack = sparse.identity(n)
    one, margins, time_and_space = map(sparse.csr_matrix, (corner[None, :], -in_margins, -trace[None, :]))
    blocks = [[one, None], [margins, -SQRT2 * slack], [None, -slack], [time_and_space, None]]
    A = sparse.bmat([*blocks, [-sparse.identity(entries), None]], format="csc")
    b = np.concatenate(([1.0], -np.ones(n), np.zeros(n + 1 + entries)))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n + 1), clarabel.PSDTriangleConeT(k + 1)]
    solved = solve_conic(np.r_[0.5 * trace, costs], A, b, cones, tol=TOL, max_iter=MAX_ITER)
    Z = smat(solved.x[:entries])
    return StatedRelaxation(Z[1:, 1:], Z[0, 1:], float(solved.value))


def _on(geometry: str, classifier: ClassifierMixin) -> ClassifierMixin:
    return make_pipeline(FunctionTransformer(from_lorentz, kw_args={"geometry": geometry}), classifier)


#: The classifiers of methods that are not `HyperbolicSVC` itself.
ESTIMATORS: dict[str, type[HyperbolicSVC]] = {
    "pgd-published": PublishedPGD,
    "sdp-published": PublishedSDP,
    "moment-published": PublishedMoment,
    "moment-lp": PublishedMoment,
}
#: Those of scikit-learn, as functions of C.
BASELINES: dict[str, Callable[[float | None], ClassifierMixin]] = {
    "svm-lorentz": lambda C: SVC(kernel="linear", C=C),
    "svm-tangent": lambda C: _on("tangent", SVC(C=C)),
    "forest-disk": lambda C: _on("poincare", RandomForestClassifier(random_state=0)),
}


@dataclass(frozen=True)
class Method:
    """A column of the tables, described in methods.toml. `solver` is None for those of `BASELINES`."""

    name: str
    label: str
    about: str
    colour: str
    cost: tuple[float, float]
    solver: str | None = None
    paper_column: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    uses_C: bool = True

    @property
    def is_margin(self) -> bool:
        """Whether it answers the margin problem, so that objectives and gaps can be measured."""
        return self.solver is not None

    @property
    def is_constrained(self) -> bool:
        """Whether the problem it answers is the paper's, with ``q(w) >= 0``."""
        return self.is_margin and not self.parameters.get("allow_timelike", False)

    @property
    def is_relaxation(self) -> bool:
        """Whether it is one of the paper's two relaxations, for which it gives its eta."""
        return self.paper_column in ("sdp", "moment")

    @property
    def runs_on_devices(self) -> bool:
        """Whether its work is batched linear algebra that PyTorch can do on an accelerator."""
        return self.solver == "moment"

    def settings(self, dataset: str) -> dict[str, Any]:
        """Everything besides C and the scheme that its answer depends on, as plain values."""
        options = dict(self.options)
        if self.solver == "pgd":
            options["epochs"] = 4000 if dataset in REAL else 2000  # paper, section Experiments
        settings = {"solver": self.solver or self.name, "options": options, **self.parameters}
        if self.name in ESTIMATORS:
            settings["extraction"] = ESTIMATORS[self.name].__name__
        return settings

    def build(self, dataset: str, C: float | None, scheme: str, device: str | None = None) -> ClassifierMixin:
        """An unfitted classifier that takes Lorentz points; it works on one thread, or on PyTorch's `device`."""
        if not self.is_margin:
            return BASELINES[self.name](C)
        assert C is not None
        settings = self.settings(dataset)
        settings.pop("extraction", None)
        options = settings.pop("options")
        if self.runs_on_devices:
            options |= {"n_jobs": 1} if device is None else {"library": "torch", "device": device}
        estimator = ESTIMATORS.get(self.name, HyperbolicSVC)
        return estimator(
            C=C, solver_options=options, multi_class=scheme, random_state=0, calibration="platt", **settings
        )  # as the paper scales scores

    def estimate(self, sizes: list[int], dataset: str) -> float:
        """Seconds one fold may take, given the numbers of training points of its binary problems."""
        start, slope = self.cost
        return self.settings(dataset)["options"].get("epochs", 1) * sum(start + slope * n for n in sizes)


_TABLE = tomllib.loads(files("hypermargin_studies.reproduction").joinpath("methods.toml").read_text("utf-8"))
METHODS = {name: Method(name, **about) for name, about in _TABLE.items()}
#: The method against which all suboptimality is measured.
REFERENCE = "exact"


def get_method(name: str) -> Method:
    """The method called `name`, or a `ValueError` that lists the names there are."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; the methods are {', '.join(METHODS)}")
    return METHODS[name]


def label(name: str) -> str:
    """The heading of a method's column."""
    return METHODS[name].label
