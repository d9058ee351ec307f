"""
Pipelines, grid search and weights
==================================

All classifiers follow scikit-learn's conventions: they work in pipelines, in
``GridSearchCV`` with any splitter and score, and with sample weights. Coordinates
must not be standardised, because that moves points off the hyperbolic space.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from hypermargin import HyperbolicSVC
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry import from_lorentz

points, y = make_gaussian_mixture(60, 3, scale=0.7, random_state=2, return_X_y=True)
X = from_lorentz(points, "poincare")
donors = np.random.default_rng(0).integers(
    6, size=len(y)
)  # samples of one donor must not be on both sides of a split

search = GridSearchCV(
    HyperbolicSVC(geometry="poincare"),
    {"C": [0.1, 1.0, 10.0], "boundary": ["geodesic", "curve"]},
    cv=GroupKFold(3),
)
search.fit(X, y, groups=donors)
print(f"best parameters {search.best_params_}, accuracy {search.best_score_:.1%}")

pipeline = make_pipeline(
    FunctionTransformer(lambda Z: Z[:, :2]), search.best_estimator_
)  # such as: choose columns
scores = cross_validate(pipeline, X, y, cv=4, scoring=["accuracy", "f1_macro"])
print(
    f"pipeline: accuracy {scores['test_accuracy'].mean():.1%}, macro F1 {scores['test_f1_macro'].mean():.3f}"
)
weighted = HyperbolicSVC(geometry="poincare").fit(
    X, y, sample_weight=np.where(y == 0, 5.0, 1.0)
)
print(
    f"recall of class 0 with its weight raised: {np.mean(weighted.predict(X[y == 0]) == 0):.1%}"
)

table = search.cv_results_
figure, ax = plt.subplots(figsize=(6.4, 5.0), layout="constrained")
for boundary in ("geodesic", "curve"):
    own = table["param_boundary"] == boundary
    ax.errorbar(
        table["param_C"][own].astype(float),
        table["mean_test_score"][own],
        table["std_test_score"][own],
        label=boundary,
    )
ax.set(xscale="log", xlabel="C", ylabel="accuracy, folds by donor")
ax.legend(frameon=False)
figure.savefig("grid.png", dpi=150)
