"""
Reading a certificate
=====================

A solver says "optimal". Why should anybody believe it? With every answer of the
exact method comes a certificate: a small file from which other code recomputes a
lower bound, in rigorous arithmetic and from the data alone. This tutorial solves a
problem, reads its certificate, checks it in two ways, and tries to cheat.
"""

# %%
# Solve
# -----
# The training problem of a hyperplane is not convex: local methods can stop far
# from the optimum. The exact method encloses the optimum between a value and a
# bound.
import hypermargin as hm
from hypermargin.datasets import make_gaussian_mixture

X, y = make_gaussian_mixture(
    [70, 70], 2, scale=0.8, random_state=0, return_X_y=True
)
problem = hm.MarginProblem(X, 2 * y - 1, C=1.0)
solution = hm.solve(problem)
print(f"objective   {solution.objective:.9f}")
print(f"lower bound {solution.lower_bound:.9f}")
print(f"gap         {solution.gap:.1e}")
print(f"status      {solution.status.name}: {solution.status.value}")

# %%
# *Objective*: this classifier reaches it, recomputed from the data and rounded up.
# *Lower bound*: no hyperplane has a smaller objective. *Gap*: how far, relatively,
# the answer can be from the best one. ``OPTIMAL`` means that independent code has
# recomputed the bound and that the gap is below the tolerance, here one part in a
# million.

# %%
# What other methods prove
# ------------------------
# Local descent offers no bound, and relaxations offer a weak one. Both are
# compared with the exact bound.
for method in ("pgd", "euclidean", "sdp"):
    other = hm.solve(problem, method)
    above = (
        problem.objective(other.w, "hinge", other.intercept) / solution.lower_bound
        - 1.0
    )
    print(
        f"{method:<10}{above:>8.1%} above the optimum; its own bound: {other.lower_bound:.3f}"
    )

# %%
# What the file says
# ------------------
# The statement names the problem: how many points, which loss, which C, and
# fingerprints of data and labels.
solution.certificate.save("proof.json")
certificate = hm.Certificate.load("proof.json")
print(certificate.statement)

# %%
# How it proves
# -------------
# The problem is non-convex in one direction only, the time coordinate t of the
# normal. The grey curve is the least objective for each t, the coloured ones are
# lower bounds that the certificate names: together they lie above the bound
# everywhere.
from hypermargin.plotting import plot_proof

plot_proof(solution, problem).savefig("proof.png", dpi=120)

# %%
# Check it yourself
# -----------------
# ``verify`` recomputes the bound in seconds. ``by_arb=True`` asks the reference
# checker: a few short files of exact arithmetic, which share no code with the
# solver.
print(f"fast check      {certificate.verify(problem):.9f}")
print(f"exact reference {certificate.verify(problem, by_arb=True):.9f}")

# %%
# Without Python code, for points in a file: ``hypermargin certificate check
# proof.json points.csv``. For somebody who does not want to install the package:
# ``python -m hypermargin.check --copy check.pyz`` writes the reference checker
# into one file.

# %%
# Try to cheat
# ------------
# A changed label, another C, a bound that is too good: each is refused, with a
# reason.
import json
from pathlib import Path

import numpy as np

from hypermargin.certificates import CertificateError


def attempt(what, check):
    try:
        check()
    except (CertificateError, ValueError) as error:
        print(f"{what}: refused. {error}\n")


labels = problem.y.copy()
labels[3] *= -1
attempt(
    "one label changed",
    lambda: certificate.verify(hm.MarginProblem(X, labels, C=1.0)),
)
attempt(
    "another C", lambda: certificate.verify(hm.MarginProblem(X, problem.y, C=1.5))
)
content = json.loads(Path("proof.json").read_text())
content["statement"]["bound"] *= 1.01
Path("forged.json").write_text(json.dumps(content))
attempt(
    "a bound that is one percent too good",
    lambda: hm.Certificate.load("forged.json").verify(problem),
)

# %%
# What is not proved
# ------------------
# The certificate is about the training problem. It says nothing about new data:
# accuracy is what cross-validation measures. A classifier of many classes solves
# several problems, and each has its own certificate.
X, y = make_gaussian_mixture(40, 3, scale=0.6, random_state=1, return_X_y=True)
model = hm.HyperbolicSVC(C=10.0).fit(X, y)
for status, gap, found in zip(
    model.statuses_, model.gaps_, model.solutions_, strict=True
):
    print(
        f"{status.name}, gap {gap:.0e}, proved anew: {found.certificate is not None}"
    )
assert np.all(model.gaps_ <= 1e-6)
