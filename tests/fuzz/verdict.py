"""Is there a false word? A case is solved by the package, and what it says is judged by `exact_values`."""

import json
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb
from sklearn.exceptions import ConvergenceWarning

from fuzz.cases import OTHER_KINDS, Array, Case, draw_batch, varied
from fuzz.exact_values import ExactProblem, Vector, boost, exact_normal, form, spacelike
from fuzz.other_kinds import exact_values_of, other_problem, solved_other
from fuzz.search import descended, enumerated, in_frame, to_frame
from hypermargin import HyperbolicSVC, problems
from hypermargin.certificates import Certificate, CertificateError
from hypermargin.passes import Resident, SpreadProblem
from hypermargin.problems import MarginProblem
from hypermargin.solvers import solve, solve_path

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
    """Draw, solve and judge a batch: the drawn cases where it is an even one, and otherwise variations of them."""
    cases, report = draw_batch(*name), Report()
    if name[1] % 2:
        cases = [varied(case) for case in cases]
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
            if case.method in OTHER_KINDS:
                return _judge_other(case, problem, endings)
            solutions = solved(case, problem)
    except Exception as error:
        endings[case.method, "raised"] += 1
        return Complaint(f"raised {type(error).__name__}", f"{type(error).__name__}: {error}")
    Cs = case.C if case.route != "restarted" else case.C * len(solutions)
    for C, solution in zip(Cs, solutions, strict=True):
        endings[case.method if case.route == "at once" else case.route, solution.status.name] += 1
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
    limits: dict[str, Any] = {"max_iter": case.passes} if case.method in ("exact", "classifier", "path") else {}
    if case.method == "classifier":
        model = HyperbolicSVC(C=case.C[0], tol=case.tol, allow_timelike=case.timelike, solver_options=limits)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it says what the status says
            return model.fit(problem.X, case.y, sample_weight=case.weight).solutions_
    if case.method == "path":
        return solve_path(problem, case.C, tol=case.tol, **limits)
    if case.route == "warm":
        rng = np.random.default_rng(case.seed)
        limits["start"] = rng.normal(size=problem.dim + 1) * 10.0 ** rng.uniform(-6.0, 6.0)
    elif case.route == "blocks":
        problem = in_blocks(problem, case.seed)
    elif case.route == "restarted":
        with tempfile.TemporaryDirectory() as folder:
            limits["checkpoint"] = str(Path(folder) / "passes.ckpt")
            begun = solve(problem, case.method, tol=case.tol, **{**limits, "max_iter": 1 + case.seed % 5})
            return [begun, solve(problem, case.method, tol=case.tol, **limits)]
    return [solve(problem, case.method, tol=case.tol, **limits)]


def in_blocks(problem: MarginProblem, seed: int) -> SpreadProblem:
    """The same problem with its samples in two to four blocks; some may be empty of one class."""
    rng = np.random.default_rng(seed)
    weight = np.ones(problem.n_samples) if problem.sample_weight is None else problem.sample_weight
    owner = rng.integers(int(rng.integers(2, 5)), size=problem.n_samples)
    owner[weight == 0.0] = owner[np.argmax(weight)]  # a block without weight is no problem
    blocks = [
        MarginProblem(problem.X[owner == k], problem.y[owner == k], 1.0, weight[owner == k], problem.uncertainty)
        for k in np.unique(owner)
    ]
    return SpreadProblem(Resident(blocks), problem.C, problem.uncertainty, problem.allow_timelike)


def _judge_other(case: Case, problem: MarginProblem, endings: Counter) -> Complaint | None:
    """What is false about the answer to a problem of another kind: its value, its bound, its status, its file."""
    own = other_problem(case, problem)
    solution = solved_other(case, own)
    endings[case.method, solution.status.name] += 1
    values: list[arb] = []

    def of_answer() -> arb:
        values.extend(exact_values_of(case, own, solution))
        return values[0]

    wrong = _judge_words(case, solution, of_answer)
    if wrong is not None:
        return wrong
    bounds = {"lower bound": solution.lower_bound}
    if solution.certificate is not None and solution.status.name in PROVED:
        again = Certificate.from_dict(json.loads(json.dumps(solution.certificate.to_dict())))
        bounds |= {"bound from a file": again.verify(own), "bound by Arb": again.verify(own, by_arb=True)}
    return _above(bounds, values)


def judge_solution(
    case: Case, problem: MarginProblem, C: float, solution: Any, centre: Vector, points: Array, start: Array
) -> Complaint | None:
    """What is false about a solution, or None."""
    exact = ExactProblem(case, C)
    w, low, value = np.asarray(solution.w), getattr(solution, "w_low", None), None
    if np.all(np.isfinite(w)):
        normal, q = exact_normal(w, low)
        value = exact.objective(normal, q) if solution.loss == "hinge" and solution.intercept == 0.0 else None
    wrong = _judge_words(case, solution, lambda: value)
    if wrong is not None:
        return wrong
    return _judge_bounds(
        case, problem, exact, solution, (normal, q, value), to_frame(w, low, centre), centre, points, start
    )


def _judge_words(case: Case, solution: Any, value_of: Callable[[], arb | None]) -> Complaint | None:
    """What is false about a solution whatever the problem is; `value_of` gives the exact value of its answer."""
    objective, bound, gap = solution.objective, solution.lower_bound, solution.gap
    if np.isnan(objective) or np.isnan(bound) or np.isnan(gap):
        return Complaint("NaN", f"objective {objective}, bound {bound}, gap {gap}")
    if not np.all(np.isfinite(solution.w)):
        return Complaint("w", f"w is {np.asarray(solution.w).tolist()}")
    value = value_of()
    if value is not None and value > objective:
        return Complaint("objective", f"objective {objective!r}, but the answer has the value {_shown(value)}")
    if gap < 0.0:
        return Complaint("gap", f"gap {gap!r}: objective {objective!r}, bound {bound!r}")
    if solution.status.name == "OPTIMAL" and not (gap <= case.tol and np.isfinite(objective)):
        return Complaint("optimal", f"said to be optimal with the gap {gap!r}, objective {objective!r}")
    return None


def _above(bounds: dict[str, float], values: list[arb]) -> Complaint | None:
    """A bound that lies above the value of a feasible point, or None."""
    for name, bound in bounds.items():
        for value in values:
            if np.isfinite(bound) and arb(bound) > value:
                return Complaint("bound", f"the {name} {bound!r} lies above the value {_shown(value)} of a feasible w")
    return None


def _judge_bounds(case, problem, exact, solution, returned, framed, centre, points, start) -> Complaint | None:
    """What is false about the lower bounds: candidates in the frame are moved back and evaluated exactly."""
    bounds = {"lower bound": solution.lower_bound, **_checked_bounds(case, problem, solution)}
    rng = np.random.default_rng(case.seed)
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
    wrong = _above(bounds, values)
    if wrong is not None:
        return wrong
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
    lot = case.seed % 64
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
