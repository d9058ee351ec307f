"""
Explain a prediction
====================

Why is this point in that class, and how far is it from being in another? The score
gives the margin, ``certified_radius`` a distance within which the answer provably
cannot change, and ``nearest_adversarial`` a point nearby where it does.
"""

import numpy as np

from hypermargin import HyperbolicSVC, HyperbolicTreeClassifier
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry import distance
from hypermargin.plotting import plot_certified_radii

X, y = make_gaussian_mixture(25, 3, scale=0.5, random_state=0, return_X_y=True)
labels = np.array(["amber", "blue", "coral"])[y]
model = HyperbolicSVC(C=10.0).fit(X, labels)

points = X[::15]
radius = model.certified_radius(points)
elsewhere, length = model.nearest_adversarial(points)
print("predicted  probability  cannot change within  changes at distance  to")
for i, label in enumerate(model.predict(points)):
    probability = model.predict_proba(points[i : i + 1]).max()
    assert np.isclose(distance(points[i], elsewhere[i]), length[i], rtol=1e-5)
    other = model.predict(elsewhere[i : i + 1])[0]
    print(
        f"{label:<9}{probability:>13.2f}{radius[i]:>22.3f}{length[i]:>21.3f}  {other}"
    )

tree = HyperbolicTreeClassifier(max_depth=2, random_state=0).fit(X, labels)
print(f"\nA tree can be read:\n{tree.to_text()}")
plot_certified_radii(model, X, labels).figure_.savefig("radii.png", dpi=150)
