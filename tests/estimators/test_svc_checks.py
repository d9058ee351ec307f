"""Every check that scikit-learn has for classifiers; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin import available_methods
from hypermargin.estimators import HyperbolicSVC

SOLVERS = [name for name in ("exact", "euclidean") if name in available_methods()]


# Some checks use data around 100, far beyond the radius that double precision holds, and say so in no other way.
@pytest.mark.filterwarnings("ignore::hypermargin.estimators.inputs.RadiusWarning")
@parametrize_with_checks(
    [
        HyperbolicSVC(geometry="tangent", solver=solver, multi_class=multi_class)
        for solver in SOLVERS
        for multi_class in ("ovo", "ovr")
    ]
)
def test_sklearn_check(estimator, check):
    check(estimator)
