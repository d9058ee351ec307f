"""The methods that are compared: the paper's, the exact one, and what a practitioner would use at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.models import from_lorentz
from hypermargin_studies.datasets import REAL
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
    colour: str
    cost: Cost
    solver: str | None = None
    paper_column: str | None = None
    estimator: type[HyperbolicSVC] = HyperbolicSVC
    parameters: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    build_baseline: Callable[[float | None], ClassifierMixin] | None = None
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
        options = settings.pop("options")
        if self.runs_on_devices:
            options |= {"n_jobs": 1} if device is None else {"library": "torch", "device": device}
        return self.estimator(C=C, solver_options=options, multi_class=scheme, random_state=0, **settings)

    def estimate(self, sizes: list[int], dataset: str) -> float:
        """Seconds one fold may take, given the numbers of training points of its binary problems."""
        start, slope = self.cost
        steps = self.settings(dataset)["options"].get("epochs", 1)
        return steps * sum(start + slope * n for n in sizes)


def _on(geometry: str, classifier: ClassifierMixin) -> ClassifierMixin:
    return make_pipeline(FunctionTransformer(from_lorentz, kw_args={"geometry": geometry}), classifier)


ABOUT = {
    "pgd-published": "projected gradient descent as the paper's public code has it: from a start in the wrong frame",
    "pgd": "projected gradient descent on the asinh loss from the Euclidean answer, rate and steps of the paper",
    "sdp-published": "the paper's semidefinite relaxation with its public code's choice among candidates",
    "sdp": "the same relaxation; of all candidates, made feasible, the one with the least hinge objective",
    "moment-published": "the paper's sparse moment relaxation of order 2; its first moments are the classifier",
    "moment-lp": "what the published one tends to: without a ball its bound is that of the risk alone, and its w "
    "minimises the risk; found in milliseconds by the SDP or the linear program it equals",
    "moment": "the moment relaxation with a ball known to hold a minimiser, which makes it tight, and our extraction",
    "exact": "certified global optimum of the paper's problem (hinge loss)",
    "exact-asinh": "certified global optimum (to 1e-3) of the problem as first stated, with the asinh loss; "
    "in the plane",
    "exact-timelike": "certified optimum without the constraint q(w) >= 0: a boundary may be a hyperbolic circle",
    "euclidean": "linear SVM on the Lorentz coordinates, no intercept",
    "svm-lorentz": "scikit-learn's SVC(kernel='linear') on the Lorentz coordinates: an intercept, one-vs-one",
    "svm-tangent": "scikit-learn's SVC (RBF kernel) on tangent vectors at the origin, one-vs-one",
    "forest-disk": "scikit-learn's random forest on the Poincaré disk; it has no C",
}
_SDP, _EXACT = (0.011, 6e-5), (0.003, 2e-6)
_AS_PUBLISHED: tuple[Any, ...] = (PublishedMoment, {}, {"bounded": False})
_METHODS = (
    Method("pgd-published", "PGD, published", "#999999", (0.06, 7e-5), "euclidean", "pgd", PublishedPGD),
    Method("pgd", "PGD", "#555555", (25e-6, 2.6e-8), "pgd", "pgd"),
    Method("sdp-published", "SDP, published", "#F0C060", _SDP, "euclidean", "sdp", PublishedSDP),
    Method("sdp", "SDP", "#E69F00", _SDP, "sdp", "sdp"),
    Method(*("moment-published", "Moment, published", "#E0A0C0", (0.2, 0.012), "moment", "moment"), *_AS_PUBLISHED),
    Method("moment-lp", "Moment, by LP", "#CC79A7", _SDP, "sdp", "moment", PublishedMoment),
    Method("moment", "Moment + ball", "#D55E00", (0.05, 4e-3), "moment", "moment"),
    Method("exact", "Exact", "#0072B2", _EXACT, "exact"),
    Method("exact-asinh", "Exact, asinh", "#56B4E9", (0.3, 1e-4), "exact", parameters={"loss": "asinh", "tol": 1e-3}),
    Method("exact-timelike", "Exact, timelike", "#009E73", _EXACT, "exact", parameters={"allow_timelike": True}),
    Method("euclidean", "Euclidean", "#8B5A2B", (0.002, 2e-5), "euclidean"),
    Method("svm-lorentz", "Linear SVM", "#000000", (0.001, 2e-4), build_baseline=lambda C: SVC(kernel="linear", C=C)),
    Method("svm-tangent", "RBF, tangent", "#7B3FA0", (0.001, 3e-4), build_baseline=lambda C: _on("tangent", SVC(C=C))),
    Method(
        "forest-disk",
        "Forest, disk",
        "#6B8E23",
        (0.3, 1e-4),
        uses_C=False,
        build_baseline=lambda C: _on("poincare", RandomForestClassifier(random_state=0)),
    ),
)
METHODS = {method.name: method for method in _METHODS}
#: The method against which all suboptimality is measured.
REFERENCE = "exact"


def get_method(name: str) -> Method:
    """The method called `name`, or a `ValueError` that lists the names there are."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; the methods are {', '.join(METHODS)}")
    return METHODS[name]
