"""
The picture of the README
=========================

The picture of the README: the branches of a tree told apart, and five methods on
one problem with one proof.
"""

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image

from hypermargin import HyperbolicSVC, MarginProblem, available_methods, solve
from hypermargin.datasets import make_gaussian_mixture, make_tree
from hypermargin.geometry import distance
from hypermargin.plotting import PoincareDisplay

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")

tree = make_tree(150, radius=4.5, random_state=23)
children = np.flatnonzero(
    np.isin(tree.parent, np.flatnonzero(tree.parent == 0))
)  # two steps from the root
branch = distance(tree.X[:, None], tree.X[children]).argmin(axis=1)
model = HyperbolicSVC(C=10.0, solver="exact").fit(tree.X, branch)
PoincareDisplay.from_estimator(
    model, tree.X, branch, edges=tree.edges, ax=left, legend=False
)
proved = sum(status.is_proved for status in model.statuses_)
left.set_title(
    f"Branches of a tree: {proved} of {len(model.statuses_)} optima proved"
)

X, y = make_gaussian_mixture(40, 2, scale=0.7, random_state=1, return_X_y=True)
problem = MarginProblem(X, 2 * y - 1, C=1.0)
solutions = {}
for method in sorted(
    available_methods(), key="exact".__ne__
):  # the exact one first
    solution = solve(problem, method)
    value = problem.objective(solution.w, "hinge", solution.intercept)
    solutions[f"{method}: {value:.3f}" + ", proved" * solution.status.is_proved] = (
        solution
    )
PoincareDisplay.from_solutions(solutions, X, y, ax=right)
right.set_title("One problem, five methods and their objectives")

print(
    f"{len(children)} branches, accuracy {model.score(tree.X, branch):.1%}; objectives {'; '.join(solutions)}"
)
figure.savefig("tree_and_proof.png", dpi=125)
small = (
    Image.open("tree_and_proof.png")
    .convert("RGB")
    .quantize(128, dither=Image.Dither.NONE)
)
small.save(
    "tree_and_proof.png", optimize=True
)  # a third of the bytes, and no difference to be seen
