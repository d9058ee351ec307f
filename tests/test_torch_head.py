"""The layer of PyTorch: the same probabilities in every geometry, gradients, training, and the way back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hypermargin import HyperbolicSVC
from hypermargin.geometry import GEOMETRIES, from_lorentz
from reference.objective import lift

torch = pytest.importorskip("torch")


def points(n_classes, d=2, n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = rng.normal(size=(n_classes, d))
    return lift(centres[y] + 0.5 * rng.normal(size=(n, d))), np.array(["a", "b", "c", "d"])[y]


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("curvature", [1.0, 0.4])
def test_softmax_of_the_logits_is_predict_proba_in_every_geometry(geometry, curvature):
    X, y = points(3)
    X = from_lorentz(X, geometry, curvature)
    for boundary in ("geodesic", "curve"):
        model = HyperbolicSVC(multi_class="ovr", boundary=boundary, geometry=geometry, curvature=curvature).fit(X, y)
        head = model.to_torch()
        logits = head(torch.as_tensor(X)).detach().numpy()
        assert_allclose(logits, model.decision_function(X), rtol=1e-9, atol=1e-9)
        assert_allclose(head.predict_proba(torch.as_tensor(X)).detach().numpy(), model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("calibration", ["softmax", "platt"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_way_back_keeps_probabilities_and_predictions(n_classes, calibration):
    X, y = points(n_classes, d=5)
    model = HyperbolicSVC(C=5.0, multi_class="ovr", calibration=calibration).fit(X, y)
    again = HyperbolicSVC.from_torch(model.to_torch())
    assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-9)
    assert_array_equal(again.predict(X), model.predict(X))
    assert np.all(np.isinf(again.gaps_))  # nothing is claimed of it


def test_training_goes_on_from_the_model_and_gradients_are_those_of_differences():
    X, y = points(3)
    head = HyperbolicSVC(C=0.01, multi_class="ovr", geometry="tangent").fit(from_lorentz(X, "tangent"), y).to_torch()
    inputs = torch.as_tensor(from_lorentz(X, "tangent")).requires_grad_()
    target = torch.as_tensor(np.searchsorted(head.classes, y))
    assert torch.autograd.gradcheck(lambda values: head(values), inputs[:4])
    assert torch.isfinite(
        torch.autograd.grad(head(torch.zeros(1, 2, requires_grad=True)).sum(), head.linear.weight)[0]
    ).all()
    loss = torch.nn.functional.cross_entropy
    before = loss(head(inputs), target).item()
    parameters = list(head.parameters())
    for _ in range(10):  # by hand, as torch.optim takes seconds to load
        slopes = torch.autograd.grad(loss(head(inputs), target), parameters)
        with torch.no_grad():
            for parameter, slope in zip(parameters, slopes, strict=True):
                parameter -= 0.1 * slope
    trained = HyperbolicSVC.from_torch(head)
    probability = trained.predict_proba(from_lorentz(X, "tangent"))
    after = -np.mean(np.log(probability[np.arange(len(y)), target.numpy()]))
    assert after == pytest.approx(loss(head(inputs), target).item(), abs=1e-9)
    assert after < before


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_traced_module_gives_the_same_logits_for_other_points():
    """What an export to ONNX records: operations without a branch that depends on the points."""
    X, y = points(3)
    model = HyperbolicSVC(multi_class="ovr").fit(X, y)
    traced = torch.jit.trace(model.to_torch(), torch.as_tensor(X))
    assert_allclose(traced(torch.as_tensor(X[:7])).detach().numpy(), model.decision_function(X[:7]), atol=1e-9)


def test_votes_have_no_logits():
    X, y = points(3)
    with pytest.raises(ValueError, match="fit with multi_class='ovr'"):
        HyperbolicSVC(multi_class="ovo").fit(X, y).to_torch()
