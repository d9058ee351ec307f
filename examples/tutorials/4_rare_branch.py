"""
A rare branch of a taxonomy
===========================

Taxonomies such as WordNet are trees, and hyperbolic space has room for trees. A
typical question is whether a node belongs to a certain branch, such as *mammal* or
*group*. The branch is rare, its boundary is not a single hyperplane, and the
embedding is imperfect.

The data are simulated in the likeness of WordNet embeddings: 3,000 nodes in the
plane, noise, and 3 % of the nodes far from where they belong.
"""

# %%
# The data
# --------
import numpy as np
from sklearn.model_selection import train_test_split

from hypermargin.datasets import make_taxonomy

taxonomy = make_taxonomy(3000, positive_fraction=0.03, random_state=1)
print(taxonomy.description)
X, X_test, y, y_test = train_test_split(
    taxonomy.X, taxonomy.y, test_size=0.4, stratify=taxonomy.y, random_state=0
)
print(
    f"the branch has {y.mean():.1%} of the nodes: {y.sum()} for training, {y_test.sum()} for the test"
)

# %%
# Accuracy says nothing here
# --------------------------
# Whoever always answers "no" is right in 97 % of the cases. *Average precision* is
# the mean precision as the threshold is lowered until every node of the branch is
# found; for random scores it equals the share of the branch.
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from hypermargin import (
    HyperbolicForestClassifier,
    HyperbolicKNeighborsClassifier,
    HyperbolicSVC,
)

models = {
    "hyperplane": HyperbolicSVC(C=10.0),
    "hyperplane, balanced": HyperbolicSVC(C=10.0, class_weight="balanced"),
    "curve, balanced": HyperbolicSVC(
        C=10.0, boundary="curve", class_weight="balanced"
    ),
    "neighbours": HyperbolicKNeighborsClassifier(n_neighbors=15),
    "forest": HyperbolicForestClassifier(n_estimators=100, random_state=0),
    "linear SVM (scikit-learn)": LinearSVC(class_weight="balanced"),
}
scores = {}
for name, model in models.items():
    model.fit(X, y)
    has_margin = hasattr(model, "decision_function")
    scores[name] = (
        model.decision_function(X_test)
        if has_margin
        else model.predict_proba(X_test)[:, 1]
    )
    print(
        f"{name:<26}average precision {average_precision_score(y_test, scores[name]):.3f}"
    )

# %%
# A single hyperplane cannot cut out a branch: the nodes beyond it include other
# branches. Forests of hyperplanes can, at every node of their trees a hyperplane
# separates groups of nodes.

# %%
# Choose a threshold
# ------------------
# The curve shows what a threshold costs. The forest finds half of the branch with
# few false alarms.
import matplotlib.pyplot as plt
from sklearn.metrics import PrecisionRecallDisplay, precision_recall_curve

figure, ax = plt.subplots(figsize=(6.6, 5.0), layout="constrained")
for name in (
    "forest",
    "neighbours",
    "curve, balanced",
    "linear SVM (scikit-learn)",
):
    PrecisionRecallDisplay.from_predictions(y_test, scores[name], name=name, ax=ax)
figure.savefig("precision_recall.png", dpi=120)

precision, recall, thresholds = precision_recall_curve(y_test, scores["forest"])
half = np.flatnonzero(recall[:-1] >= 0.5)[-1]
print(
    f"probability above {thresholds[half]:.2f}: {recall[half]:.0%} of the branch is found,"
)
print(f"and {precision[half]:.0%} of what is found is right")

# %%
# Explain
# -------
# ``certified_radius`` bounds how far a node may move before the forest's answer
# changes, and every tree can be read.
forest = models["forest"]
found = np.argsort(scores["forest"])[-3:]
for i, radius in zip(found, forest.certified_radius(X_test[found]), strict=True):
    print(
        f"test node {i}: probability {scores['forest'][i]:.2f}, answer certain within {radius:.3f}, label {y_test[i]}"
    )
print(forest.to_text(0, max_depth=2))

# %%
# Let the library choose
# ----------------------
# ``HyperbolicClassifierCV(scoring="average_precision")`` compares all families by
# cross-validation and blends the best ones. It takes a few minutes on data of this
# size; two families are quick.
from hypermargin import HyperbolicClassifierCV

automatic = HyperbolicClassifierCV(
    ["geodesic", "neighbours"], scoring="average_precision", cv=3
).fit(X, y)
print(automatic.explanation_)
