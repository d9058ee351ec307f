"""
A picture of a proof
====================

The optimum and its proof: two Gaussians that overlap, solved, checked and drawn.
"""

import numpy as np

from hypermargin import MarginProblem, solve
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.plotting import plot_proof

X, y = make_gaussian_mixture(
    [80, 80], 2, scale=0.8, random_state=0, return_X_y=True
)
problem = MarginProblem(X, np.where(y == 1, 1.0, -1.0), C=1.0)
solution = solve(problem)
proved = solution.certificate.verify(problem)
print(
    f"objective {solution.objective:.8f}; no hyperplane has less than {proved:.8f} ({solution.n_iter} passes)"
)

plot_proof(solution, problem).savefig("proof.png", dpi=150)
