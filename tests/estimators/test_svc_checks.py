"""Every check that scikit-learn has for classifiers; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin import available_methods
from hypermargin.estimators import HyperbolicSVC

SOLVERS = [name for name in ("exact", "euclidean") if name in available_methods()]


# Some checks use data around 100, far beyond the radius that double precision holds: drawn in to that radius, the
# points are so far out that rounding leaves nothing to prove, and the classifier says both.
@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.RadiusWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        HyperbolicSVC(geometry="tangent", solver=solver, multi_class=multi_class)
        for solver in SOLVERS
        for multi_class in ("ovo", "ovr")
    ]
)
def test_sklearn_check(estimator, check):
    check(estimator)
