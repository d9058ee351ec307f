"""
Class weights for a rare subtree
================================

A subtree that holds a twentieth of a random tree: plain and balanced weights,
drawn with the subtree in front.
"""

from sklearn.metrics import balanced_accuracy_score

from hypermargin.datasets import make_tree
from hypermargin.estimators import HyperbolicSVC
from hypermargin.plotting import PoincareDisplay

tree = make_tree(300, positive_fraction=0.05, random_state=1)
print(f"{tree.description} Edge length {tree.edge_length:.2f}.")

boundaries = {}
for name, class_weight in (("plain", None), ("balanced", "balanced")):
    model = HyperbolicSVC(C=10.0, solver="exact", class_weight=class_weight).fit(
        tree.X, tree.y
    )
    boundaries[name] = model.solutions_[0]
    print(
        f"{name:>8} weights: balanced accuracy {balanced_accuracy_score(tree.y, model.predict(tree.X)):.1%}"
    )

display = PoincareDisplay.from_solutions(
    boundaries, tree.X, tree.y, edges=tree.edges, center=tree.X[tree.subtree_root]
)
display.figure_.savefig("tree.png", dpi=150)
