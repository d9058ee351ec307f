"""Every check that scikit-learn has for classifiers, with a kernel; none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hypermargin.estimators import HyperbolicKernelSVC


# Some checks use data around 100, which is drawn in to the largest radius, and many columns: with warnings.
@pytest.mark.filterwarnings("ignore::hypermargin.data.ingest.RadiusWarning")
@pytest.mark.filterwarnings("ignore::hypermargin.estimators.KernelSpreadWarning")
@parametrize_with_checks(
    [
        HyperbolicKernelSVC(geometry="tangent"),
        HyperbolicKernelSVC(geometry="tangent", kernel="distance", multi_class="ovr"),
    ]
)
def test_sklearn_check(estimator, check):
    check(estimator)
