"""Every check that scikit-learn has for classifiers, for trees and forests; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin.estimators import HyperbolicForestClassifier, HyperbolicTreeClassifier


# Some checks use data far beyond the radius that double precision holds, and forests of few trees.
@pytest.mark.filterwarnings("ignore::hypermargin.estimators.inputs.RadiusWarning")
@parametrize_with_checks(
    [
        HyperbolicTreeClassifier(geometry="tangent"),
        HyperbolicForestClassifier(10, geometry="tangent"),
        HyperbolicForestClassifier(5, geometry="tangent", bootstrap=False, class_weight="balanced", n_jobs=2),
        HyperbolicTreeClassifier(geometry="tangent", max_depth=3, splits="certified"),
    ]
)
def test_sklearn_check(estimator, check):
    check(estimator)
