"""
The origin does not matter
==========================

Where the origin of an embedding lies is arbitrary: an isometry moves it and leaves
all distances as they are. The answers of hyperbolic classifiers stay the same.
Those of Euclidean classifiers on the coordinates change.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC, LinearSVC

from hypermargin import HyperbolicKernelSVC, HyperbolicSVC
from hypermargin.datasets import make_tree
from hypermargin.geometry import from_lorentz, random_isometry, transform_points

tree = make_tree(400, positive_fraction=0.15, radius=5.0, random_state=2)
train = np.random.default_rng(0).random(len(tree.y)) < 0.6
models = {
    "HyperbolicSVC": (HyperbolicSVC(C=1.0), "lorentz"),
    "HyperbolicKernelSVC": (HyperbolicKernelSVC(C=1.0), "lorentz"),
    "linear SVM, Lorentz": (LinearSVC(C=1.0), "lorentz"),
    "RBF SVM, tangent": (SVC(C=1.0), "tangent"),
    "random forest, disk": (RandomForestClassifier(50, random_state=0), "poincare"),
}
changed = {name: [] for name in models}
for k in range(5):
    moved = transform_points(
        tree.X, random_isometry(2, 2.0, np.random.default_rng(k))
    )
    for name, (model, geometry) in models.items():
        here, there = (from_lorentz(points, geometry) for points in (tree.X, moved))
        before = model.fit(here[train], tree.y[train]).predict(here[~train])
        after = model.fit(there[train], tree.y[train]).predict(there[~train])
        changed[name].append(100.0 * np.mean(before != after))
figure, ax = plt.subplots(figsize=(7.0, 4.6), layout="constrained")
for name, shares in changed.items():
    print(f"{name:<22}predictions that change: {np.mean(shares):4.1f} %")
ax.barh(
    list(changed)[::-1],
    [np.mean(shares) for shares in changed.values()][::-1],
    color="#4477aa",
)
ax.set_xlabel("test predictions that change when the origin is moved, %")
figure.savefig("origin.png", dpi=150)
