"""
Ten lines to a classifier
=========================

Three Gaussian classes in the hyperbolic plane: fit, score, draw.
"""

from sklearn.model_selection import train_test_split

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicSVC
from hypermargin.plotting import PoincareDisplay

X, y = make_gaussian_mixture(100, 3, scale=0.6, random_state=4, return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
model = HyperbolicSVC(C=10.0, solver="exact").fit(X, y)
print(f"test accuracy {model.score(X_test, y_test):.1%}")
display = PoincareDisplay.from_estimator(model, X, y, X_test=X_test, y_test=y_test)
display.figure_.savefig("gaussian.png", dpi=150)
