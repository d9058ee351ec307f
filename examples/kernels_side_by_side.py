"""
Kernels side by side
====================

``HyperbolicKernelSVC`` draws boundaries of any shape. Its kernels are functions of
the hyperbolic distance, so that the answer does not depend on the origin. The time
``t`` of the heat kernel is its width: small values follow single points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from hypermargin import HyperbolicKernelSVC
from hypermargin.geometry import lift
from hypermargin.plotting import PoincareDisplay

rng = np.random.default_rng(0)
angle = rng.uniform(0.0, 2.0 * np.pi, size=160)
radius = 1.1 + 1.1 * (rng.random(160) < 0.5) + rng.normal(scale=0.25, size=160)
X = lift(np.sinh(radius)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
y = (radius > 1.65) ^ (
    angle > 3.6
)  # two rings that swap their classes along an arc

figure, axes = plt.subplots(2, 3, figsize=(13.0, 8.6), layout="constrained")
choices = [{"kernel": "heat", "t": t} for t in (0.02, 0.2, 2.0)]
choices += [{"kernel": name} for name in ("laplacian", "cosh", "distance")]
for ax, choice in zip(axes.flat, choices, strict=True):
    model = HyperbolicKernelSVC(C=10.0, **choice)
    name = ", ".join(
        f"{value}" if key == "kernel" else f"{key} = {value}"
        for key, value in choice.items()
    )
    accuracy = cross_val_score(model, X, y, cv=3).mean()
    print(f"{name:<16}accuracy in cross-validation {accuracy:.1%}")
    PoincareDisplay.from_estimator(
        model.fit(X, y), X, y, ax=ax, legend=False, resolution=120
    )
    ax.set_title(f"{name}: {accuracy:.1%}")
figure.savefig("kernels.png", dpi=100)
