"""The contract between problems and solvers: what a solver declares, what it returns, and how it is found by name.

A solver is a frozen dataclass whose fields are its options; `solve` makes one, runs it, and recomputes the objective
and the gap from the problem (`judge`). What a solver says about its own quality is not believed. The steps to add one
are in `docs/adding-a-solver.md`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from hypermargin.arithmetic import exact_form
from hypermargin.arrays import Array
from hypermargin.certificates import Answer, Certificate
from hypermargin.certificates.core.objective import Enclosure, enclose_objective
from hypermargin.certificates.core.statement import Problem
from hypermargin.problems.margin import BinaryProblem

#: Relative: a bound that lies further above the objective than this is no rounding, and one of the two is wrong.
ROUNDING = 1e-9


class Status(Enum):
    """How a solve ended, as a sentence."""

    OPTIMAL = "Optimal: an independent check of the certificate proves the gap to be within the tolerance."
    UNVERIFIED = "The solver's own bound is within the tolerance, but the certificate was not checked."
    CHECK_FAILED = (
        "The solver's own bound is within the tolerance, but the check of the certificate proved a larger gap."
    )
    GAP_REMAINS = "A lower bound is known, and the gap to it is larger than the tolerance."
    CONVERGED = "The method stopped by its own rule; it offers no lower bound."
    ITERATION_LIMIT = "The iteration or node limit was reached first; the gap reported is a true one."
    TIME_LIMIT = "The time limit was reached first; the gap reported is a true one."
    TIMELIKE = "The method returned a timelike w, which is no hyperplane: the objective is infinite."
    INFEASIBLE = "No hyperplane separates the classes: the hard-margin problem has no solution."
    FAILED = "The method broke down numerically; what it returns is the best point it had."

    @property
    def is_proved(self) -> bool:
        """Whether the answer is proved: that this is an optimum, or that there is none."""
        return self in (Status.OPTIMAL, Status.INFEASIBLE)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a solver returns to `solve`. `lower_bound` and `status` are its claims; the objective is recomputed.

    The answer is ``w + w_low``, exactly (`w_low` None: w itself). `status_if_met` replaces `status` where the
    recomputed gap is within the tolerance; `checked` says whether `lower_bound` is what a check of `certificate` has
    proved. `frame` is the frame in which the objective is best recomputed: the space part of its centre, and whether
    data is to be moved there in double-double arithmetic. `objective` is given only where code that checks
    certificates has bounded it together with the lower bound; otherwise the objective is recomputed.
    """

    w: Array
    status: Status
    w_low: Array | None = None
    frame: tuple[Array, bool] | None = None
    status_if_met: Status | None = None
    lower_bound: float = -np.inf
    certificate: Certificate | None = None
    checked: bool = True
    objective: float | None = None
    n_iter: int = 0
    intercept: float = 0.0
    history: Mapping[str, Sequence[float]] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    def status_at(self, objective: float, tol: float) -> Status:
        """The status where w has this objective."""
        met = relative_gap(objective, self.lower_bound) <= tol
        return self.status_if_met if met and self.status_if_met is not None else self.status


@dataclass(frozen=True, eq=False)
class Solution:
    """A classifier ``x -> sign(x * w + intercept)`` and what is known about its quality.

    Far from the origin a normal needs more digits than a double has: the answer is then ``w + w_low``, two vectors
    whose sum is meant exactly. Elsewhere `w_low` is None.

    `objective` is recomputed from the problem for `loss`: for the hinge loss an upper end of what it is exactly, by the
    code that checks certificates. `lower_bound` holds for the same problem and the same loss.
    `history` maps names ("objective", "lower_bound", ...) to one value per iteration; `info` is what the method adds.
    """

    w: Array
    objective: float
    lower_bound: float
    status: Status
    method: str
    loss: str = "hinge"
    w_low: Array | None = None
    certificate: Certificate | None = None
    n_iter: int = 0
    time: float = 0.0
    intercept: float = 0.0
    history: Mapping[str, Sequence[float]] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """``(objective - lower_bound) / max(|objective|, 1e-12)``; infinite where there is no bound."""
        return relative_gap(self.objective, self.lower_bound)

    @property
    def is_proved(self) -> bool:
        """Whether the status says that the answer is proved, and no bound above the objective contradicts it."""
        return self.status.is_proved and self.gap >= -ROUNDING

    def objective_for(self, loss: str, problem: BinaryProblem) -> float:
        """The objective of w for any loss; `problem` is the one that was solved, asked only where `loss` is another."""
        return self.objective if loss == self.loss else problem.objective(self.w, loss, self.intercept)

    def bound_for(self, loss: str) -> float:
        """The lower bound, which holds for one loss only: -inf for the others."""
        return self.lower_bound if loss == self.loss else -np.inf

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, with the name of the status and the certificate as its own dict."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        certificate = self.certificate.to_dict() if isinstance(self.certificate, Certificate) else self.certificate
        return {**kept, "status": self.status.name, "certificate": certificate}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "Solution":
        """The inverse of `to_dict`."""
        certificate = state["certificate"]
        if isinstance(certificate, dict):
            certificate = Certificate.from_dict(certificate)
        return cls(**{**state, "status": Status[state["status"]], "certificate": certificate})


def relative_gap(objective: float, lower_bound: float) -> float:
    """The relative gap of `Solution.gap`; negative only by rounding, or where the bound is wrong."""
    if not (math.isfinite(objective) and math.isfinite(lower_bound)):
        return float("inf")
    return (objective - lower_bound) / max(abs(objective), 1e-12)


class Solver(ABC):
    """Base of all solvers. A subclass is a frozen dataclass: its fields are the options and have defaults.

    `capabilities` says what the solver handles beyond the plain soft margin: "hard" (C = inf), "timelike"
    (allow_timelike), "uncertainty" (robust margins), "intercept" (a `fit_intercept` option), "out-of-core" (samples in
    several blocks, for the hinge loss).
    `losses` are those it can minimise; the first is its default. Problems are of the class `MarginProblem`, unless the
    solver says otherwise in the signature of `run`; only those for margin problems are registered.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    capabilities: ClassVar[frozenset[str]] = frozenset()
    losses: ClassVar[tuple[str, ...]] = ("hinge",)

    @property
    def loss(self) -> str:
        """The loss this solver minimises; solvers with a choice have a field of this name."""
        return self.losses[0]

    @abstractmethod
    def run(self, problem: Any, tol: float) -> Outcome:
        """Solve `problem` to relative gap `tol` as far as the method can."""

    def run_path(self, problem: Any, Cs: Sequence[float], tol: float) -> Iterator[Outcome]:
        """Solve `problem` for each C in turn; methods that carry something over from one to the next override it."""
        for C in Cs:
            yield self.run(problem.with_C(C), tol)


_REGISTRY: dict[str, type[Solver]] = {}
#: Methods known by name before they are imported: the module and the class of each.
_ANNOUNCED: dict[str, tuple[str, str]] = {}


def register(solver: type[Solver]) -> type[Solver]:
    """Class decorator: make a solver known to `solve` under its `name`."""
    _REGISTRY[solver.name] = solver
    return solver


def announce(method: str, module: str, solver: str) -> None:
    """Make the method of the class `solver` known by name alone; `module` is imported when the method is first used."""
    _ANNOUNCED[method] = (module, solver)


def available_methods() -> tuple[str, ...]:
    """The names `solve` accepts: the project's own solvers first, then others in the order they were registered."""
    return tuple(dict.fromkeys((*_ANNOUNCED, *_REGISTRY)))


def get_solver(method: str) -> type[Solver]:
    """The solver class called `method`, or a `ValueError` that lists the names there are."""
    if method in _REGISTRY:
        return _REGISTRY[method]
    if method in _ANNOUNCED:
        module, solver = _ANNOUNCED[method]
        return getattr(import_module(module), solver)
    raise ValueError(f"unknown solver {method!r}; the solvers are {', '.join(available_methods())}")


@cache
def option_names(solver: type[Solver]) -> frozenset[str]:
    """The options that a solver declares: the fields of its dataclass."""
    return frozenset(f.name for f in fields(solver))  # type: ignore[arg-type]


def make_solver(method: str, **options: Any) -> Solver:
    """An instance of the solver `method`; an option it does not have is a `TypeError` that lists those it has."""
    solver = get_solver(method)
    known = option_names(solver)
    unknown = sorted(options.keys() - known)
    if unknown:
        have = ", ".join(sorted(known)) or "none"
        raise TypeError(f"solver {method!r} has no option {', '.join(map(repr, unknown))}; its options are: {have}")
    return solver(**options)


def judge(problem: Problem, solver: Solver, outcome: Outcome, tol: float, start: float) -> Solution:
    """Turn a solver's outcome into a `Solution`: objective and status are checked against the problem.

    The time is that since `start`, by `time.perf_counter`.
    """
    objective = outcome.objective
    if objective is None:
        assert isinstance(problem, BinaryProblem)
        objective = recomputed_objective(problem, solver.loss, outcome)
    if (
        isinstance(problem, BinaryProblem)
        and math.isinf(objective)
        and outcome.status not in (Status.INFEASIBLE, Status.FAILED)
        and not problem.allow_timelike
    ):
        timelike = exact_form(outcome.w, outcome.w_low) < 0
        outcome = replace(outcome, status=Status.TIMELIKE) if timelike else outcome
    seconds = perf_counter() - start
    return make_solution(problem, outcome, objective, tol, method=solver.name, loss=solver.loss, seconds=seconds)


def make_solution(
    problem: Problem,
    outcome: Outcome,
    objective: float,
    tol: float,
    *,
    method: str,
    loss: str = "hinge",
    seconds: float = 0.0,
) -> Solution:
    """The solution of an outcome with this objective: every `Solution` of a solver is made here.

    The gap between objective and bound decides on the status, and the certificate receives its statement. A bound that
    lies above the objective by more than rounding is wrong, and so is its proof: neither is passed on.
    """
    status, bound, certificate = outcome.status_at(objective, tol), float(outcome.lower_bound), outcome.certificate
    if relative_gap(objective, bound) < -ROUNDING:
        status, bound, certificate = Status.FAILED, -np.inf, None
    if certificate is not None:
        proved = bound if outcome.checked else None
        answer = Answer(np.asarray(outcome.w, dtype=np.float64), outcome.w_low, outcome.intercept)
        certificate = certificate.stating(problem, loss=loss, objective=objective, bound=proved, answer=answer)
    return Solution(
        w=np.asarray(outcome.w, dtype=np.float64),
        objective=objective,
        lower_bound=bound,
        status=status,
        method=method,
        loss=loss,
        w_low=outcome.w_low,
        certificate=certificate,
        n_iter=outcome.n_iter,
        time=seconds,
        intercept=outcome.intercept,
        history=outcome.history,
        info=outcome.info,
    )


def run_solver(solver: Solver, problem: Problem, tol: float) -> Solution:
    """The judged solution of one problem; `solve` is the same for solvers by name."""
    if not tol > 0.0:
        raise ValueError(f"tol must be positive, got {tol!r}")
    start = perf_counter()
    return judge(problem, solver, solver.run(problem, tol), tol, start)


def recomputed_objective(problem: BinaryProblem, loss: str, outcome: Outcome) -> float:
    """The objective of an outcome from the data; for the hinge loss an upper end of the exact one."""
    if loss != "hinge" or outcome.intercept:
        return problem.objective(outcome.w, loss, outcome.intercept)
    return enclosed_objective(problem, outcome).upper


def enclosed_objective(problem: BinaryProblem, outcome: Outcome) -> Enclosure:
    """Bounds on the hinge objective of an outcome, by the code that checks certificates."""
    centre, precise = outcome.frame if outcome.frame is not None else (problem.centre[1:], False)
    return enclose_objective(problem, outcome.w, outcome.w_low, centre, precise)


def solvers_that_handle(capability: str) -> list[str]:
    """The names of the solvers that declare `capability` (see `Solver`)."""
    return [name for name in available_methods() if capability in get_solver(name).capabilities]
