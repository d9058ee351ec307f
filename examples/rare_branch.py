"""
A rare branch of a taxonomy
===========================

A branch with two percent of 3,000 nodes: precision and recall of a forest, of a
balanced hyperplane, and of a linear SVM on the same coordinates. Accuracy is 98 %
for a classifier that never predicts the branch, so average precision is compared.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import PrecisionRecallDisplay, average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from hypermargin import HyperbolicForestClassifier, HyperbolicSVC
from hypermargin.datasets import make_taxonomy

X, y = make_taxonomy(3000, positive_fraction=0.02, random_state=4, return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
print(
    f"{y.sum()} of {len(y)} training nodes and {y_test.sum()} of {len(y_test)} test nodes are in the branch"
)

models = {
    "hyperbolic forest": HyperbolicForestClassifier(
        n_estimators=50, random_state=0
    ),
    "hyperbolic SVM, balanced": HyperbolicSVC(C=10.0, class_weight="balanced"),
    "linear SVM on Lorentz coordinates": LinearSVC(class_weight="balanced"),
}
figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
for name, model in models.items():
    model.fit(X, y)
    scores = (
        model.predict_proba(X_test)[:, 1]
        if "forest" in name
        else model.decision_function(X_test)
    )
    print(
        f"{name:<34}average precision {average_precision_score(y_test, scores):.3f}"
    )
    PrecisionRecallDisplay.from_predictions(y_test, scores, name=name, ax=ax)
ax.set_title("Test nodes")
figure.savefig("rare_branch.png", dpi=150)
