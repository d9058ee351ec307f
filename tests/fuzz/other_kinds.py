"""Problems of another kind: boundaries that are curves, kernels, and the asinh loss; their values in Arb.

Written from the definitions, as `exact_values` is. Rivals of an answer are the answer with its numbers and its
intercept moved by a little or by much: a rival whose value is below a bound shows that the bound is false.
"""

from typing import Any

import numpy as np
from flint import arb

from fuzz.cases import Case
from fuzz.exact_values import ExactProblem, Vector, dot, exact_normal, form, spacelike
from hypermargin.kernels import KERNELS
from hypermargin.problems import MarginProblem
from hypermargin.problems.curve import CurveProblem
from hypermargin.problems.kernel import KernelProblem
from hypermargin.solvers import solve
from hypermargin.solvers.curve import solve_curve
from hypermargin.solvers.kernel.method import solve_kernel

RIVALS = 12
#: Boxes of the search for the asinh optimum: so few that a case takes a tenth of a second.
BOXES = 300


def other_problem(case: Case, problem: MarginProblem) -> Any:
    """The package's problem of a case of another kind; a kernel's parameter goes with the case."""
    if case.method == "asinh":
        return problem
    if case.method == "curve":
        return CurveProblem(problem)
    size = () if case.method == "distance" else (parameter(case),)
    return KernelProblem(problem.X, problem.y, KERNELS[case.method](*size), problem.C, problem.sample_weight)


def parameter(case: Case) -> float:
    return float(10.0 ** np.random.default_rng(case.seed).uniform(-2.0, 1.0))


def solved_other(case: Case, problem: Any) -> Any:
    if case.method == "asinh":
        return solve(problem, "exact", loss="asinh", tol=case.tol, max_nodes=BOXES)
    return (solve_curve if case.method == "curve" else solve_kernel)(problem, case.tol)


def exact_values_of(case: Case, problem: Any, solution: Any) -> list[arb]:
    """The value of the answer, and those of its rivals."""
    exact, rng = ExactProblem(case, case.C[0]), np.random.default_rng(case.seed)
    w, low, b = np.asarray(solution.w), getattr(solution, "w_low", None), solution.intercept
    steps = rng.normal(size=(RIVALS, w.size)) * 10.0 ** rng.uniform(-8.0, 0.0, size=(RIVALS, 1))
    size = np.linalg.norm(w) + (w.size == 0)
    answers = [w, *(w + size * steps), *(w * (1.0 + steps[:, :1]))]
    if case.method == "asinh":
        normal = exact_normal(w, low)
        return [asinh_value(exact, *normal), *(asinh_value(exact, *spacelike(_numbers(v))) for v in answers[1:])]
    intercepts = [b, *(b + steps[:, -1] * max(1.0, abs(b))), *([b] * RIVALS)]
    if case.method == "curve":
        centre = _numbers(problem.centre)
        centre = [(1 + dot(centre, centre)).sqrt(), *centre]
        return [curve_value(exact, _numbers(v), c, centre) for v, c in zip(answers, intercepts, strict=True)]
    matrix = kernel_matrix(exact, case)
    answers = [w, *(balanced(v) for v in answers[1:])]
    return [kernel_value(exact, matrix, v, c) for v, c in zip(answers, intercepts, strict=True)]


def asinh_value(exact: ExactProblem, w: Vector, q: arb) -> arb:
    """``q/2 + sum_i c_i max(0, asinh(1) - asinh(m_i))``."""
    least = arb(1).asinh()
    losses = ((least - m.asinh()).nonnegative_part() for m in exact.margins(w, q))
    return q.nonnegative_part() / 2 + arb(exact.C) * _weighted(exact, losses)


def curve_value(exact: ExactProblem, w: Vector, b: float, centre: Vector) -> arb:
    """``(q + 2 (w * c)^2)/2`` and the hinge of ``y (x * w + b)``."""
    inner = centre[0] * w[0] - dot(centre[1:], w[1:])
    margins = (m + exact.y[i] * arb(b) for i, m in zip(exact.used, exact.margins(w, arb(0)), strict=True))
    risk = _weighted(exact, ((1 - m).nonnegative_part() for m in margins))
    return (form(w) + 2 * inner * inner) / 2 + arb(exact.C) * arb(2).rsqrt() * risk


def kernel_matrix(exact: ExactProblem, case: Case) -> list[Vector]:
    """Values of the kernel by its formula in the distance; equal points have distance 0 exactly."""
    size = arb(parameter(case))

    def value(i: int, j: int) -> arb:
        if np.array_equal(case.space[i], case.space[j]):
            return arb(0) if case.method == "distance" else arb(1)
        x, y = exact.points[i], exact.points[j]
        cosh = (x[0] * y[0] - dot(x[1:], y[1:])).max(arb(1))
        d = cosh.acosh()
        if case.method == "distance":
            return -d
        if case.method == "laplacian":
            return (-size * d).exp()
        if case.method == "cosh":
            return (-size * cosh.log()).exp()
        return d / d.sinh() * (-d * d / (4 * size)).exp()  # in dimensions 1 to 3

    return [[value(i, j) for j in range(len(exact.y))] for i in range(len(exact.y))]


def kernel_value(exact: ExactProblem, matrix: list[Vector], beta: np.ndarray, b: float) -> arb:
    """``beta'K beta/2 + sum_i c_i max(0, 1 - y_i (f(x_i) + b))``: the loss of kernels has no factor 1/sqrt2."""
    coefficients = _numbers(beta)
    scores = [dot(row, coefficients) for row in matrix]
    losses = ((1 - exact.y[i] * (scores[i] + arb(b))).nonnegative_part() for i in exact.used)
    return dot(coefficients, scores) / 2 + arb(exact.C) * _weighted(exact, losses)


def balanced(beta: np.ndarray) -> np.ndarray:
    """Coefficients of sum 0, without which the kernel -d has no length; exactly, on a grid of binary fractions."""
    grid = 2.0 ** (np.frexp(np.abs(beta).max() or 1.0)[1] - 40)
    rounded = np.round(beta / grid)
    rounded[np.argmax(np.abs(rounded))] -= rounded.sum()
    return grid * rounded


def _weighted(exact: ExactProblem, losses: Any) -> arb:
    return sum((exact.weights[i] * loss for i, loss in zip(exact.used, losses, strict=True)), arb(0))


def _numbers(values: np.ndarray) -> Vector:
    return [arb(float(v)) for v in values]
