"""
Five methods on one problem
===========================

Every method on one problem: what it reaches, what it proves, and where its
boundary lies.
"""

import numpy as np
from sklearn.model_selection import train_test_split

from hypermargin import MarginProblem, available_methods, solve
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry import minkowski_dot
from hypermargin.plotting import PoincareDisplay

X, y = make_gaussian_mixture(20, 2, scale=0.8, random_state=1, return_X_y=True)
X, X_test, y, y_test = train_test_split(
    X, 2 * y - 1, test_size=0.25, stratify=y, random_state=0
)
problem = MarginProblem(X, y, C=1.0)

solutions = {method: solve(problem, method) for method in available_methods()}
print(
    f"{'method':<12}{'hinge objective':>16}{'own gap':>10}{'test':>8}{'seconds':>9}  how it ended"
)
for method, solution in solutions.items():
    accuracy = np.mean(
        np.sign(minkowski_dot(X_test, solution.w) + solution.intercept) == y_test
    )
    value = problem.objective(solution.w, "hinge", solution.intercept)
    print(
        f"{method:<12}{value:>16.4f}{solution.gap:>10.1e}{accuracy:>8.1%}{solution.time:>9.3f}  {solution.status.value}"
    )

display = PoincareDisplay.from_solutions(
    solutions, X, y, X_test=X_test, y_test=y_test
)
display.figure_.savefig("methods.png", dpi=150)
