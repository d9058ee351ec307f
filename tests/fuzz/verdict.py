"""Is there a false word? A case is solved by the package, and what it says is judged by `exact_values`."""

import json
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from flint import arb
from sklearn.exceptions import ConvergenceWarning

from fuzz.cases import Array, Case, draw_batch
from fuzz.exact_values import ExactProblem, Vector, boost, exact_normal, form, spacelike
from fuzz.search import descended, enumerated, in_frame, to_frame
from hypermargin import HyperbolicSVC, problems
from hypermargin.certificates import Certificate, CertificateError
from hypermargin.problems import MarginProblem
from hypermargin.solvers import solve, solve_path

TOL = 1e-6
PROVED = ("OPTIMAL", "INFEASIBLE")


@dataclass(frozen=True)
class Complaint:
    """A false word: its kind, and a sentence with the numbers."""

    kind: str
    sentence: str


@dataclass
class Report:
    """What became of a batch: how many ended how, by family, and the false words."""

    endings: Counter = field(default_factory=Counter)
    found: list[tuple[Case, Complaint]] = field(default_factory=list)


def judge_batch(name: tuple[int, int]) -> Report:
    """Draw, solve and judge a batch."""
    cases, report = draw_batch(*name), Report()
    centres = [ExactProblem(case, case.C[0]).centre for case in cases]
    points = np.stack([in_frame(ExactProblem(case, case.C[0]), c) for case, c in zip(cases, centres, strict=True)])
    best = enumerated(points, cases)
    for case, centre, frame_points, start in zip(cases, centres, points, best, strict=True):
        wrong = judge_case(case, report.endings, (centre, frame_points, start))
        if wrong is not None:
            report.found.append((case, wrong))
    return report


def judge_case(
    case: Case, endings: Counter | None = None, prepared: tuple[Vector, Array, Array] | None = None
) -> Complaint | None:
    """The first false word about a case, or None; how each solve ended is counted in `endings`."""
    endings = Counter() if endings is None else endings
    if prepared is None:
        centre = ExactProblem(case, case.C[0]).centre
        points = in_frame(ExactProblem(case, case.C[0]), centre)
        prepared = centre, points, enumerated(points[None], [case])[0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            problem = make_problem(case)
            if problem is None:
                endings[case.method, "refused"] += 1
                return None
            solutions = solved(case, problem)
    except Exception as error:
        endings[case.method, "raised"] += 1
        return Complaint(f"raised {type(error).__name__}", f"{type(error).__name__}: {error}")
    for C, solution in zip(case.C, solutions, strict=True):
        endings[case.method, solution.status.name] += 1
        try:
            wrong = judge_solution(case, problem.with_C(C), C, solution, *prepared)
        except CertificateError as error:
            wrong = Complaint("certificate", f"the certificate of a proved solution is refused: {error}")
        if wrong is not None:
            return wrong
    return None


def make_problem(case: Case) -> MarginProblem | None:
    """The problem of a case; None where the package refuses it in plain words."""
    noise = None
    if case.noise is not None:
        kind = getattr(problems, case.noise.name)
        noise = kind(case.noise.rho) if case.noise.shape is None else kind(case.noise.shape, case.noise.rho)
    X = np.column_stack([np.sqrt(1.0 + np.sum(case.space**2, axis=1)), case.space])
    try:
        return MarginProblem(
            X,
            case.y,
            case.C[0],
            sample_weight=case.weight,
            uncertainty=noise,
            allow_timelike=case.timelike,
        )
    except ValueError:
        return None


def solved(case: Case, problem: MarginProblem) -> list[Any]:
    limits = {"max_iter": case.passes} if case.method in ("exact", "classifier", "path") else {}
    if case.method == "classifier":
        model = HyperbolicSVC(C=case.C[0], tol=TOL, allow_timelike=case.timelike, solver_options=limits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it says what the status says
            return model.fit(problem.X, case.y, sample_weight=case.weight).solutions_
    if case.method == "path":
        return solve_path(problem, case.C, tol=TOL, **limits)
    return [solve(problem, case.method, tol=TOL, **limits)]


def judge_solution(
    case: Case, problem: MarginProblem, C: float, solution: Any, centre: Vector, points: Array, start: Array
) -> Complaint | None:
    """What is false about a solution, or None."""
    exact = ExactProblem(case, C)
    status, objective, bound = solution.status.name, solution.objective, solution.lower_bound
    w, low = np.asarray(solution.w), getattr(solution, "w_low", None)
    if np.isnan(objective) or np.isnan(bound) or np.isnan(solution.gap):
        return Complaint("NaN", f"objective {objective}, bound {bound}, gap {solution.gap}")
    if not np.all(np.isfinite(w)):
        return Complaint("w", f"w is {w.tolist()}")
    normal, q = exact_normal(w, low)
    value = exact.objective(normal, q) if solution.loss == "hinge" and solution.intercept == 0.0 else None
    if value is not None and value > objective:
        return Complaint("objective", f"objective {objective!r}, but w has the value {_shown(value)}")
    if solution.gap < 0.0:
        return Complaint("gap", f"gap {solution.gap!r}: objective {objective!r}, bound {bound!r}")
    if status == "OPTIMAL" and not (solution.gap <= TOL and np.isfinite(objective)):
        return Complaint("optimal", f"said to be optimal with the gap {solution.gap!r}, objective {objective!r}")
    return _judge_bounds(
        case, problem, exact, solution, (normal, q, value), to_frame(w, low, centre), centre, points, start
    )


def _judge_bounds(case, problem, exact, solution, returned, framed, centre, points, start) -> Complaint | None:
    """What is false about the lower bounds: candidates in the frame are moved back and evaluated exactly."""
    bounds = {"lower bound": solution.lower_bound, **_checked_bounds(case, problem, solution)}
    rng = np.random.default_rng(crc32(case.name.encode()))
    tries = [start, framed, descended(case, exact.C, points, [framed, start], rng)]
    candidates = [boost(centre, [arb(float(v)) for v in tried], 1) for tried in tries]
    values = [returned[2]] if returned[2] is not None else []
    for candidate in candidates:
        v, form_of_v = (candidate, form(candidate)) if case.timelike else spacelike(candidate)
        if case.hard:
            least = min(exact.margins(v, form_of_v), key=lambda m: float(m.lower()), default=arb(1)).lower()
            if not least > 0:
                continue
            v, form_of_v = [u / least for u in v], form_of_v / least**2
        values.append(exact.objective(v, form_of_v))
    for name, bound in bounds.items():
        for value in values:
            if np.isfinite(bound) and arb(bound) > value:
                return Complaint("bound", f"the {name} {bound!r} lies above the value {_shown(value)} of a feasible w")
    if np.inf in bounds.values():
        if not case.hard:
            return Complaint("infeasible", "a soft margin is said to be infeasible")
        if exact.has_separator([*candidates, returned[0]]):
            return Complaint("infeasible", "said to be infeasible, but there is a separator")
    return None


def _checked_bounds(case: Case, problem: MarginProblem, solution: Any) -> dict[str, float]:
    """What checks of the certificate say: as it is and from a file, of some cases, and of few by Arb.

    The bound of a proved solution is that of a check already.
    """
    if solution.certificate is None or case.method == "classifier":  # which merges equal samples: another problem
        return {}
    lot = crc32(case.name.encode()) % 64
    try:
        bounds = {} if lot >= 16 else {"checked bound": solution.certificate.verify(problem)}
        if lot < 8:
            again = Certificate.from_dict(json.loads(json.dumps(solution.certificate.to_dict())))
            bounds["bound from a file"] = again.verify(problem)
        if lot == 8:
            bounds["bound by Arb"] = solution.certificate.verify(problem, by_arb=True)
    except CertificateError:
        if solution.status.name in PROVED:
            raise
        return {}
    return bounds


def _shown(value: arb) -> str:
    return value.str(17, radius=False)
