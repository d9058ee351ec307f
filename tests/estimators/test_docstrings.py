"""The examples in docstrings of estimators do what they print; parameters are given by name."""

import doctest

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from hypermargin import estimators

ESTIMATORS = [
    thing
    for thing in (getattr(estimators, name) for name in estimators.__all__)
    if isinstance(thing, type) and issubclass(thing, BaseEstimator)
]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_the_example_of_the_docstring(kind):
    (example,) = doctest.DocTestFinder(recurse=False).find(kind, kind.__name__)
    if kind is not estimators.HyperbolicClassifierCV:  # whose fits take longer than an example may
        assert example.examples
    found: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=found.append)
    assert not found, "".join(found)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_all_parameters_but_the_first_are_given_by_name(kind):
    defaults = [*kind().get_params().items()]
    kind(defaults[0][1])
    with pytest.warns(
        FutureWarning, match=rf"{kind.__name__} will take its parameters by name only.* pass \w+=\.\.\.$"
    ):
        model = kind(defaults[0][1], defaults[1][1])
    assert len(model.get_params()) == len(defaults)


def test_support_vectors_of_a_kernel_are_rows_of_the_data(four_blobs):
    X, y = four_blobs
    weight = np.arange(len(y)) % 4 > 0
    model = estimators.HyperbolicKernelSVC().fit(X, y, weight)
    np.testing.assert_allclose(X[model.support_], model.support_vectors_, rtol=1e-12, atol=1e-12)
    assert weight[model.support_].all()
    np.testing.assert_array_equal(np.bincount(y[model.support_]), model.n_support_)
