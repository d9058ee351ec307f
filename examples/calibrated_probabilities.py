"""
Calibrated probabilities
========================

Of the points that get probability 0.8, about 80 % should belong to the class. A
reliability diagram compares the two, for hyperplanes, a kernel classifier and a
forest; the log loss sums it up.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import log_loss

from hypermargin import (
    HyperbolicForestClassifier,
    HyperbolicKernelSVC,
    HyperbolicSVC,
)
from hypermargin.datasets import make_gaussian_mixture

X, y = make_gaussian_mixture(700, 2, scale=1.0, random_state=3, return_X_y=True)
X, X_test, y, y_test = X[::4], X[1::2], y[::4], y[1::2]
models = {
    "HyperbolicSVC": HyperbolicSVC(C=1.0),
    "HyperbolicKernelSVC": HyperbolicKernelSVC(C=1.0),
    "HyperbolicForestClassifier": HyperbolicForestClassifier(
        n_estimators=50, random_state=0
    ),
}
figure, ax = plt.subplots(figsize=(6.0, 5.6), layout="constrained")
for name, model in models.items():
    probability = model.fit(X, y).predict_proba(X_test)[:, 1]
    CalibrationDisplay.from_predictions(
        y_test, probability, n_bins=8, strategy="quantile", name=name, ax=ax
    )
    print(
        f"{name:<28}log loss {log_loss(y_test, probability):.3f}, accuracy {model.score(X_test, y_test):.1%}"
    )
figure.savefig("calibration.png", dpi=150)
