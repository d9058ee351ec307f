"""Every check that scikit-learn has for classifiers, for the classifier that chooses; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin.estimators import HyperbolicClassifierCV

MARGINS = {"geodesic": [{"C": 1.0}, {"C": 10.0}], "curve": [{"C": 1.0}], "kernel": [{"kernel": "heat", "C": 1.0}]}
NEIGHBOURS = {"geodesic": [{"C": 1.0}], "neighbours": [{"n_neighbors": 3}], "blend": None}
BLENDED = {"forest": [{"n_estimators": 5}], "kernel": [{"kernel": "distance"}], "blend": None}


# Some checks use data far beyond the radius that double precision holds, where rounding leaves nothing to prove.
@pytest.mark.filterwarnings("ignore::hypermargin.estimators.inputs.RadiusWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        HyperbolicClassifierCV(MARGINS, cv=2, geometry="tangent"),
        HyperbolicClassifierCV(NEIGHBOURS, cv=2, geometry="tangent"),
        HyperbolicClassifierCV(BLENDED, cv=2, geometry="tangent", n_jobs=2),
    ]
)
def test_sklearn_check(estimator, check):
    check(estimator)
