"""
Send a proof to a colleague
===========================

The certificate is a small file. Whoever has the data can check it without the
solver, and without trusting the sender: a changed label is noticed, and so is an
answer that is worse than stated.
"""

from pathlib import Path

import numpy as np

from hypermargin import Certificate, MarginProblem, solve
from hypermargin.certificates import CertificateError
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.plotting import plot_proof

X, y = make_gaussian_mixture(
    [60, 60], 2, scale=0.7, random_state=2, return_X_y=True
)
problem = MarginProblem(X, 2 * y - 1, C=1.0)
solution = solve(problem)
solution.certificate.save("proof.json")
print(
    f"proof.json: {Path('proof.json').stat().st_size / 1024:.0f} KiB for {len(y)} points"
)

# The colleague reads the file and recomputes the bound from her copy of the data.
received = Certificate.load("proof.json")
print(received.statement)
print(
    f"proved anew: no hyperplane has an objective below {received.verify(problem):.8f}"
)

flipped = np.where(
    np.arange(len(y)) == 7, -problem.y, problem.y
)  # one label is another
try:
    received.verify(MarginProblem(X, flipped, C=1.0))
except CertificateError as error:
    print(f"refused: {error}")
plot_proof(solution, problem).savefig("proof.png", dpi=150)
