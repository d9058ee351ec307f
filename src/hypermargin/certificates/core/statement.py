"""What a certificate states: which problem it is about, the bound it proves and the objective that was reached.

A check needs none of it, since it recomputes the bound from the data. The statement is for the reader, who can see what
is proved without the data, and for the gate of `Certificate.verify`: checked against another problem a certificate
usually proves nothing, and the statement identifies the problem that it is about. Arrays are known by fingerprints, so
a statement is a few hundred bytes whatever the number of samples.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Protocol, Self

from hypermargin.certificates.core.plain import from_keyed, keyed


class Problem(Protocol):
    """A problem that a certificate can be about: `identified_by` registers the facts that identify it."""

    @property
    def n_samples(self) -> int: ...

    @property
    def dim(self) -> int: ...

    @property
    def C(self) -> float: ...


#: Bounds are recomputed by compiled code, by arrays or by Arb, which round differently; relative to the objective.
BOUND_ROUNDING = 1e-9
#: Objectives are computed in doubles, and those of hard margins by a w whose margins are 1 up to rounding.
OBJECTIVE_ROUNDING = 1e-6

#: Fields that may be infinite, which JSON has no number for.
NUMBERS = ("C", "objective", "bound")


@dataclass(frozen=True)
class Statement:
    """A problem, and what is claimed about it.

    Parameters
    ----------
    n_samples, dim : int
        The number of points and the dimension of their space.
    C : float
        The weight of the risk; ``inf`` for the hard margin.
    points, labels : str
        Fingerprints of the points, and of the points with their labels; the order of the samples does not matter.
    weights : str or None
        Fingerprint of the points with labels and weights; None where all weights are 1.
    uncertainty : str or None
        The uncertainty set as Python writes it, with fingerprints for arrays, such as ``GeodesicBall(rho=0.1)``.
    allow_timelike : bool
        Whether spheres are allowed as boundaries.
    loss : str
        The loss that objective and bound are for.
    objective : float
        That of the solution the certificate came with.
    bound : float or None
        The lower bound proved when the certificate was written; None where it was not checked, or failed.
    version : str
        The version of hypermargin that wrote it.
    model : str or None
        What classifies, where that is no hyperplane, such as ``HeatKernel(t=0.5)``.
    """

    KEYED: ClassVar = frozenset({"model"})

    n_samples: int
    dim: int
    C: float
    points: str
    labels: str
    weights: str | None
    uncertainty: str | None
    allow_timelike: bool
    loss: str
    objective: float
    bound: float | None
    version: str
    model: str | None = None

    @classmethod
    def about(cls, problem: Problem, *, loss: str, objective: float, bound: float | None) -> Self:
        """The statement of `bound` and `objective` for `problem`, by this version."""
        from hypermargin import __version__  # a fact about the package, which is not complete before its parts are

        return cls(
            **identity(problem), loss=loss, objective=float(objective), bound=_proved(bound), version=__version__
        )

    def differences(self, problem: Problem) -> list[str]:
        """How `problem` differs from the one stated, a clause for each difference."""
        stated, given = asdict(self), identity(problem)
        if (self.n_samples, self.dim) != (problem.n_samples, problem.dim):
            sizes = f"{self.n_samples} points in dimension {self.dim}"
            return [f"it is about {sizes}, this problem has {problem.n_samples} in dimension {problem.dim}"]
        different = [name for name in _CLAUSES if stated[name] != given[name]]
        # Fingerprints of labels are of points and labels, those of weights of all three: one clause is enough.
        samples = [name for name in ("points", "labels", "weights") if name in different][1:]
        return [_CLAUSES[name](stated[name], given[name]) for name in different if name not in samples]

    def contradiction(self, proved: float, reached: float | None = None) -> str | None:
        """What is wrong with the bound and the objective stated, if `proved` is a lower bound; None if nothing is.

        `reached` is the objective of the answer, from above, if that is known.
        """
        size = max((abs(v) for v in (self.objective, self.bound or 0.0) if math.isfinite(v)), default=0.0)
        if self.bound is not None and not proved >= self.bound - BOUND_ROUNDING * size:
            return f"it states the lower bound {self.bound:.10g}, and proves {proved:.10g}"
        if not self.objective >= proved - OBJECTIVE_ROUNDING * size:
            return f"it states the objective {self.objective:.10g}, below the bound {proved:.10g} that it proves"
        if reached is not None and not reached <= self.objective + OBJECTIVE_ROUNDING * size:
            return f"it states the objective {self.objective:.10g}, and its answer has {reached:.10g}"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; numbers that JSON does not know, such as C of the hard margin, are written as words."""
        return {name: str(v) if v in (math.inf, -math.inf) else v for name, v in keyed(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; raises what damaged data raises."""
        missing = [field.name for field in fields(cls) if field.name not in data and field.name != "model"]
        if missing:
            raise ValueError(f"its statement does not say {', '.join(missing)}")
        words = {name: float(v) for name, v in data.items() if name in NUMBERS and v in ("inf", "-inf")}
        return from_keyed(cls, {**data, **words})

    to_plain, from_plain = to_dict, from_dict

    def __str__(self) -> str:
        """The problem, the objective and the bound in plain words, a line each."""
        margin = "hard margin" if math.isinf(self.C) else f"soft margin, {self.loss} loss, C = {self.C:g}"
        robust = "" if self.uncertainty is None else f", worst case over {self.uncertainty}"
        model = "" if self.model is None else f", {self.model}"
        timelike = ", spheres allowed as boundaries" if self.allow_timelike else ""
        weights = "all weights 1" if self.weights is None else f"weights {self.weights}"
        bound = "not checked when it was written" if self.bound is None else f"{self.bound:.10g}"
        return "\n".join(
            (
                f"problem      {margin}{model}{robust}{timelike}",
                f"data         {self.n_samples} points in dimension {self.dim}",
                f"fingerprints points {self.points}, labels {self.labels}, {weights}",
                f"objective    {self.objective:.10g}",
                f"lower bound  {bound}",
                f"written by   hypermargin {self.version}",
            )
        )


#: The clause for a difference in each of these facts, from what is stated and what is given.
_CLAUSES = {
    "model": lambda stated, given: f"it classifies by {given or 'a hyperplane'} here and {stated or 'one'} there",
    "points": lambda stated, given: "the points are others",
    "labels": lambda stated, given: "the labels are others",
    "C": lambda stated, given: f"C is {given:g} here and {stated:g} there",
    "weights": lambda stated, given: "the sample weights are others",
    "uncertainty": lambda stated, given: f"the uncertainty set is {given} here and {stated} there",
    "allow_timelike": lambda stated, given: f"allow_timelike is {given} here and {stated} there",
}


def identity(problem: Problem) -> dict[str, Any]:
    """The facts that make a problem this one."""
    facts = next((_FACTS[kind] for kind in type(problem).__mro__ if kind in _FACTS), None)
    if facts is None:
        raise TypeError(f"a certificate cannot state a problem of the type {type(problem).__name__}")
    return _COMMON | {"C": problem.C, "n_samples": problem.n_samples, "dim": problem.dim} | facts(problem)


#: What most problems have in common.
_COMMON: dict[str, Any] = {"uncertainty": None, "allow_timelike": False, "model": None}
_FACTS: dict[type, Callable[[Any], dict[str, Any]]] = {}


def identified_by(kind: type, facts: Callable[[Any], dict[str, Any]]) -> None:
    """Register what identifies problems of this type: the fields of a `Statement` that describe a problem."""
    _FACTS[kind] = facts


def _proved(bound: float | None) -> float | None:
    return None if bound is None or bound == -math.inf else float(bound)
