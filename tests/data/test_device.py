"""Arrays of PyTorch: on the processor everywhere, on a graphics card where there is one."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from hypermargin import GeodesicBall, HyperbolicSVC, MarginProblem, Status, solve
from hypermargin.data import inputs
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.device import DeviceSamples
from hypermargin.data.executors import InMemory
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.estimators import save_model
from hypermargin.geometry import GEOMETRIES

torch = pytest.importorskip("torch")

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]


@pytest.fixture(autouse=True)
def tensors_stay_tensors(monkeypatch):
    """On the processor tensors are taken for NumPy arrays; here they go the way of those on a card."""
    monkeypatch.setattr(inputs, "is_on_device", lambda X: isinstance(X, torch.Tensor))


@pytest.fixture(scope="module")
def data():
    X, y = make_gaussian_mixture(60, 3, scale=0.7, random_state=0, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order] + 5


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_classifier_of_tensors_is_that_of_the_arrays(data, device, multi_class):
    X, y = data
    T, labels = torch.from_numpy(X).to(device), torch.from_numpy(y).to(device)
    reference = HyperbolicSVC(multi_class=multi_class).fit(X, y)
    model = HyperbolicSVC(multi_class=multi_class).fit(T, labels)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.probA_, reference.probA_, rtol=1e-7)
    predicted = model.predict(T)
    assert predicted.device == T.device
    np.testing.assert_array_equal(predicted.cpu().numpy(), reference.predict(X))
    np.testing.assert_allclose(model.predict_proba(T).cpu().numpy(), reference.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(model.decision_function(T).cpu().numpy(), reference.decision_function(X), atol=1e-7)
    assert model.score(T, labels) == pytest.approx(reference.score(X, y))
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))  # arrays as well


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("geometry", GEOMETRIES[1:])
def test_other_geometries_weights_and_text_labels(data, device, geometry):
    from hypermargin.geometry import from_lorentz

    X, y = data
    P, names = from_lorentz(X, geometry, 0.5), np.array([f"kind {k}" for k in y])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    given = dict(geometry=geometry, curvature=0.5, class_weight="balanced")
    reference = HyperbolicSVC(**given).fit(P, names, weight)
    model = HyperbolicSVC(**given).fit(torch.from_numpy(P).to(device), names, torch.from_numpy(weight).to(device))
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(model.predict(torch.from_numpy(P).to(device)), reference.predict(P))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dim", [2, 3, 5, 9])
@pytest.mark.parametrize("ball", [None, GeodesicBall(0.1)])
def test_problems_on_a_device_have_the_certificates_of_the_host(device, dim, ball):
    """On a card d = 2 and 3 are done by kernels of their own."""
    X, y = make_gaussian_mixture(2500 if dim < 9 else 300, 2, dim=dim, scale=0.9, random_state=0, return_X_y=True)
    y = 2.0 * y - 1.0
    space, side = torch.from_numpy(X).to(device)[:, 1:], torch.from_numpy(y.astype(np.int8)).to(device)
    problem, other = (
        MarginProblem(X, y, 2.0, None, ball),
        BlockedProblem(InMemory([DeviceSamples(space, side, 1.0, None, ball)]), 2.0, ball),
    )
    reference, solution = solve(problem), solve(other)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(reference.objective, rel=1e-8)
    assert reference.certificate.verify(other) == pytest.approx(reference.lower_bound, rel=1e-9)
    assert solution.certificate.verify(problem) == pytest.approx(solution.lower_bound, rel=1e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_bad_rows_of_a_tensor_are_named(data, device):
    X, y = data
    bad = torch.from_numpy(X.copy()).to(device)
    bad[77, 1] = float("nan")
    with pytest.raises(ValueError, match="row 77"):
        HyperbolicSVC().fit(bad, y)
    off = torch.from_numpy(X.copy()).to(device)
    off[91, 0] += 1.0
    with pytest.raises(ValueError, match="row 91 of X is not on the hyperboloid"):
        HyperbolicSVC().fit(off, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        HyperbolicSVC().fit(torch.from_numpy(X).to(device), torch.zeros(3))


def test_a_model_of_tensors_holds_none(data, tmp_path):
    """So it loads where there is no card, and no PyTorch."""
    X, y = data
    model = HyperbolicSVC().fit(torch.from_numpy(X), torch.from_numpy(y))
    stored = pickle.dumps(model)
    assert b"torch" not in stored
    np.testing.assert_array_equal(pickle.loads(stored).predict(X), model.predict(X))
    save_model(model, tmp_path / "model.npz")
    script = (
        "import sys, numpy as np; from hypermargin.estimators import load_model; "
        "print(*load_model('model.npz').predict(np.load('X.npy'))); assert 'torch' not in sys.modules"
    )
    np.save(tmp_path / "X.npy", X)
    there = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [int(label) for label in there.stdout.split()] == model.predict(X).tolist()
