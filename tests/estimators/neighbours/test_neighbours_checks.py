"""Every check that scikit-learn has for classifiers, for nearest neighbours; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin.estimators import HyperbolicKNeighborsClassifier


# Some checks use data far beyond the radius that double precision holds.
@pytest.mark.filterwarnings("ignore::hypermargin.estimators.inputs.RadiusWarning")
@parametrize_with_checks(
    [
        HyperbolicKNeighborsClassifier(3, geometry="tangent"),
        HyperbolicKNeighborsClassifier(5, geometry="tangent", weights="distance", algorithm="tree"),
        HyperbolicKNeighborsClassifier(geometry="tangent", radius=1.0, weights="distance"),
    ]
)
def test_sklearn_check(estimator, check):
    check(estimator)
