"""
Curved boundaries: hypercycle, horocycle, circle
================================================

The three kinds of boundary ``x * w + b = 0`` that boundary="curve" fits:
hypercycle, horocycle and circle.

A curve at constant distance from a geodesic, a circle that touches infinity, and a
circle around a point: which of them is best is found by one convex problem, and
proved.
"""

import matplotlib.pyplot as plt
import numpy as np

from hypermargin import HyperbolicSVC
from hypermargin.geometry import lift, quadratic_form, signed_distance
from hypermargin.plotting import PoincareDisplay

rng = np.random.default_rng(0)
X = lift(np.sinh(2.2) * rng.uniform(-1.0, 1.0, size=(240, 2)))
classes = {
    "hypercycle": signed_distance(X, np.array([0.0, 0.4, 1.0])) > 0.7,
    "horocycle": X @ np.array([1.0, -1.0, 0.0])
    < 0.9,  # the product with a lightlike vector
    "circle": np.arccosh(X[:, 0]) < 1.4,
}
figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.9), layout="constrained")
for ax, (name, y) in zip(axes, classes.items(), strict=True):
    model = HyperbolicSVC(boundary="curve", C=10.0).fit(X, y)
    w = model.coef_[0]
    PoincareDisplay.from_estimator(model, X, y, ax=ax, legend=False, resolution=300)
    ax.set_title(f"{name}: q(w)/|w|$^2$ = {quadratic_form(w) / (w @ w):+.2f}")
    print(
        f"{name}: accuracy {model.score(X, y):.1%}, gap {model.gaps_[0]:.0e}, {model.statuses_[0].name}"
    )
figure.savefig("generalised_hyperplanes.png", dpi=140)
