"""Binary problems as the business of Ray, through joblib."""

import joblib
import numpy as np
import pytest

from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import HyperbolicSVC

ray = pytest.importorskip("ray")


@pytest.mark.filterwarnings("default")  # Ray warns of many things of its own
def test_classes_are_solved_by_ray_as_they_are_here():
    from ray.util.joblib import register_ray

    X, y = make_gaussian_mixture(40, 4, scale=0.5, random_state=0, return_X_y=True)
    here = HyperbolicSVC().fit(X, y)
    register_ray()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with joblib.parallel_config("ray", n_jobs=2):
            there = HyperbolicSVC(n_jobs=2).fit(X, y)
    finally:
        ray.shutdown()
    assert np.array_equal(there.coef_, here.coef_)
    assert there.statuses_ == here.statuses_
