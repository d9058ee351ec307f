"""The methods that are compared: the paper's, the exact one, and what a practitioner would use at once."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
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
        return estimator(C=C, solver_options=options, multi_class=scheme, random_state=0, **settings)

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
