"""The methods that are compared: the paper's, the exact one, and what a practitioner would use at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from hypermargin.datasets.by_name import REAL
from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.models import from_lorentz
from hypermargin_studies.reproduction.published import PublishedMoment, PublishedPGD, PublishedSDP

#: Seconds of fitting one binary problem to n points, as ``start + slope * n``: orders of magnitude, for the plan only.
Cost = tuple[float, float]


@dataclass(frozen=True)
class Method:
    """A column of the tables. `solver` is None for scikit-learn's classifiers, which `build_baseline` makes.

    `paper_column` is the method of the paper that it is compared with.
    """

    name: str
    label: str
    about: str
    cost: Cost
    colour: str
    solver: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    build_baseline: Callable[[float | None], ClassifierMixin] | None = None
    estimator: type[HyperbolicSVC] = HyperbolicSVC
    paper_column: str | None = None
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
        if self.estimator is not HyperbolicSVC:
            settings["extraction"] = self.estimator.__name__
        return settings

    def build(self, dataset: str, C: float | None, scheme: str, device: str | None = None) -> ClassifierMixin:
        """An unfitted classifier that takes Lorentz points; it works on one thread, or on PyTorch's `device`."""
        if self.build_baseline is not None:
            return self.build_baseline(C)
        assert C is not None
        settings = self.settings(dataset)
        settings.pop("extraction", None)
        if self.runs_on_devices:
            settings["options"] |= {"n_jobs": 1} if device is None else {"library": "torch", "device": device}
        return self.estimator(
            C=C, solver_options=settings.pop("options"), multi_class=scheme, random_state=0, **settings
        )

    def estimate(self, sizes: list[int], dataset: str) -> float:
        """Seconds one fold may take, given the numbers of training points of its binary problems."""
        start, slope = self.cost
        steps = self.settings(dataset)["options"].get("epochs", 1)
        return steps * sum(start + slope * n for n in sizes)


def _in_model(geometry: str) -> FunctionTransformer:
    return FunctionTransformer(from_lorentz, kw_args={"geometry": geometry})


def _linear(C: float | None) -> ClassifierMixin:
    return SVC(kernel="linear", C=C)


def _rbf(C: float | None) -> ClassifierMixin:
    return make_pipeline(_in_model("tangent"), SVC(kernel="rbf", C=C))


def _forest(C: float | None) -> ClassifierMixin:
    return make_pipeline(_in_model("poincare"), RandomForestClassifier(random_state=0))


METHODS = {
    method.name: method
    for method in (
        Method(
            "pgd-published",
            "PGD, published",
            "projected gradient descent as the paper's public code has it: from a start in the wrong frame",
            (0.06, 7e-5),
            "#999999",
            "euclidean",
            estimator=PublishedPGD,
            paper_column="pgd",
        ),
        Method(
            "pgd",
            "PGD",
            "projected gradient descent on the asinh loss from the Euclidean answer, rate and steps of the paper",
            (25e-6, 2.6e-8),
            "#555555",
            "pgd",
            paper_column="pgd",
        ),
        Method(
            "sdp-published",
            "SDP, published",
            "the paper's semidefinite relaxation with its public code's choice among candidates",
            (0.011, 6e-5),
            "#F0C060",
            "euclidean",
            estimator=PublishedSDP,
            paper_column="sdp",
        ),
        Method(
            "sdp",
            "SDP",
            "the same relaxation; of all candidates, made feasible, the one with the least hinge objective",
            (0.011, 6e-5),
            "#E69F00",
            "sdp",
            paper_column="sdp",
        ),
        Method(
            "moment-published",
            "Moment, published",
            "the paper's sparse moment relaxation of order 2; its first moments are the classifier",
            (0.2, 0.012),
            "#E0A0C0",
            "moment",
            options={"bounded": False},
            estimator=PublishedMoment,
            paper_column="moment",
        ),
        Method(
            "moment-lp",
            "Moment, by LP",
            "what the published one tends to: without a ball its bound is that of the risk alone, and its w minimises "
            "the risk; found in milliseconds by the SDP or the linear program it equals",
            (0.011, 6e-5),
            "#CC79A7",
            "sdp",
            estimator=PublishedMoment,
            paper_column="moment",
        ),
        Method(
            "moment",
            "Moment + ball",
            "the moment relaxation with a ball known to hold a minimiser, which makes it tight, and our extraction",
            (0.05, 4e-3),
            "#D55E00",
            "moment",
            paper_column="moment",
        ),
        Method(
            "exact",
            "Exact",
            "certified global optimum of the paper's problem (hinge loss)",
            (0.003, 2e-6),
            "#0072B2",
            "exact",
        ),
        Method(
            "exact-asinh",
            "Exact, asinh",
            "certified global optimum (to 1e-3) of the problem as first stated, with the asinh loss; in the plane",
            (0.3, 1e-4),
            "#56B4E9",
            "exact",
            parameters={"loss": "asinh", "tol": 1e-3},
        ),
        Method(
            "exact-timelike",
            "Exact, timelike",
            "certified optimum without the constraint q(w) >= 0: a boundary may be a hyperbolic circle",
            (0.003, 2e-6),
            "#009E73",
            "exact",
            parameters={"allow_timelike": True},
        ),
        Method(
            "euclidean",
            "Euclidean",
            "linear SVM on the Lorentz coordinates, no intercept",
            (0.002, 2e-5),
            "#8B5A2B",
            "euclidean",
        ),
        Method(
            "svm-lorentz",
            "Linear SVM",
            "scikit-learn's SVC(kernel='linear') on the Lorentz coordinates: an intercept, one-vs-one",
            (0.001, 2e-4),
            "#000000",
            build_baseline=_linear,
        ),
        Method(
            "svm-tangent",
            "RBF, tangent",
            "scikit-learn's SVC (RBF kernel) on tangent vectors at the origin, one-vs-one",
            (0.001, 3e-4),
            "#7B3FA0",
            build_baseline=_rbf,
        ),
        Method(
            "forest-disk",
            "Forest, disk",
            "scikit-learn's random forest on the Poincaré disk; it has no C",
            (0.3, 1e-4),
            "#6B8E23",
            build_baseline=_forest,
            uses_C=False,
        ),
    )
}
#: The method against which all suboptimality is measured.
REFERENCE = "exact"


def get_method(name: str) -> Method:
    """The method called `name`, or a `ValueError` that lists the names there are."""
    try:
        return METHODS[name]
    except KeyError:
        raise ValueError(f"unknown method {name!r}; the methods are {', '.join(METHODS)}") from None
