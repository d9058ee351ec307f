"""
Automatic choice of a model
===========================

``HyperbolicClassifierCV`` cross-validates hyperplanes, curves, neighbours, kernels
and forests on the same folds. It says in one sentence what it chose and why, and
keeps the whole table.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

from hypermargin import HyperbolicClassifierCV
from hypermargin.datasets import make_gaussian_mixture

X, y = make_gaussian_mixture(40, 3, scale=0.7, random_state=5, return_X_y=True)
X, X_test, y, y_test = train_test_split(
    X, y, test_size=0.3, stratify=y, random_state=0
)
small = {
    "geodesic": [{"C": 1.0}, {"C": 10.0}],
    "curve": [{"C": 1.0}],
    "neighbours": None,
    "kernel": [{"kernel": "heat", "C": 1.0}, {"kernel": "laplacian", "C": 1.0}],
}
model = HyperbolicClassifierCV(small, cv=4).fit(
    X, y
)  # without the first argument: every family and more parameters
print(model.explanation_)
print(f"test accuracy {model.score(X_test, y_test):.1%}")

table = pd.DataFrame(model.cv_results_)
columns = ["family", "mean_test_score", "std_test_score", "rank_test_score"]
print(
    table.sort_values("rank_test_score")[columns]
    .head(8)
    .round(3)
    .to_string(index=False)
)
best = table.groupby("family")["mean_test_score"].max().sort_values()
figure, ax = plt.subplots(figsize=(6.4, 5.0), layout="constrained")
ax.barh(best.index, best, color="#4477aa")
ax.set(xlim=(0.5, 1.0), xlabel="accuracy in cross-validation, best of each family")
figure.savefig("choice.png", dpi=150)
