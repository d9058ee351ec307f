"""One data route: the same samples give the same answer, the same warnings and the same errors, whatever they come in.

The NumPy array is the reference. Every other container goes through the same cases, valid and not.
"""

import re
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hypermargin import GeodesicBall, HyperbolicSVC
from hypermargin.data import inputs
from hypermargin.data.ingest import RadiusWarning
from hypermargin.data.readers import ArrayChunks, CsvFile, ParquetFile
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry import from_lorentz
from hypermargin.geometry.lorentz import lift

ROWS = 17  # of a chunk, so that bad rows are in late chunks and the last chunk is short


@pytest.fixture(scope="module")
def data():
    X, y = make_gaussian_mixture(30, 3, scale=0.7, random_state=0, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


# -- containers --------------------------------------------------------------------------------------------------------


def _chunks(X, y, weight, folder, monkeypatch):
    return ArrayChunks(X, rows=ROWS), y, weight


def _memmap(X, y, weight, folder, monkeypatch):
    np.save(folder / "X.npy", X)
    monkeypatch.setattr(inputs, "free_memory", lambda: 100.0)
    return np.load(folder / "X.npy", mmap_mode="r"), y, weight


def _columns(X, y, weight):
    frame = pd.DataFrame({f"x{k}": X[:, k] for k in range(X.shape[1])})
    given = {"label": y, "weight": weight}
    for name, values in given.items():
        if values is not None:
            frame[name] = values
    return frame, *(None if values is None else name for name, values in given.items())


def _csv(X, y, weight, folder, monkeypatch):
    frame, label, weights = _columns(X, y, weight)
    frame.to_csv(folder / "d.csv", index=False, float_format="%.17g", na_rep="nan")
    return CsvFile(folder / "d.csv", label, weights, rows=ROWS), None, None


def _parquet(X, y, weight, folder, monkeypatch):
    pytest.importorskip("pyarrow")
    frame, label, weights = _columns(X, y, weight)
    frame.to_parquet(folder / "d.parquet")
    return ParquetFile(folder / "d.parquet", label, weights, rows=ROWS), None, None


def _dask(X, y, weight, folder, monkeypatch):
    da = pytest.importorskip("dask.array")
    return da.from_array(X, chunks=(ROWS, -1)), y, weight


def _tensor(X, y, weight, folder, monkeypatch):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(X.copy()), y, weight


def _device(X, y, weight, folder, monkeypatch):
    """A tensor of the processor that goes the way of those on a card."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(inputs, "is_on_device", lambda X: isinstance(X, torch.Tensor))
    return torch.from_numpy(X.copy()), y, weight


CONTAINERS: dict[str, Callable[..., Any]] = {
    "memmap": _memmap,
    "chunks": _chunks,
    "csv": _csv,
    "parquet": _parquet,
    "dask": _dask,
    "tensor": _tensor,
    "device": _device,
}
#: Containers that are given y and weights in arrays beside the points.
BESIDE = ("memmap", "chunks", "dask", "tensor", "device")


@pytest.fixture(params=CONTAINERS)
def container(request, tmp_path, monkeypatch):
    def put(X, y, weight=None):
        return CONTAINERS[request.param](X, y, weight, tmp_path, monkeypatch)

    return SimpleNamespace(name=request.param, put=put)


def on_host(values: Any) -> np.ndarray:
    return np.asarray(values.compute() if hasattr(values, "dask") else values)


# -- valid input -------------------------------------------------------------------------------------------------------

WEIGHTS = np.random.default_rng(3).integers(0, 4, 90).astype(float)
VALID = {
    "plain": {},
    "ovr": {"multi_class": "ovr"},
    "balanced": {"class_weight": "balanced"},
    "a dict without some classes": {"class_weight": {1: 3.0}},
    "weights": {"weight": WEIGHTS},
    "weights and balanced": {"weight": WEIGHTS, "class_weight": "balanced"},
    "poincare": {"geometry": "poincare"},
    "klein": {"geometry": "klein", "curvature": 0.5},
    "halfspace": {"geometry": "halfspace"},
    "tangent": {"geometry": "tangent", "curvature": 2.0},
    "lorentz of another curvature": {"geometry": "lorentz", "curvature": 0.3},
    "hyperboloid": {"geometry": "hyperboloid", "curvature": 0.3},
    "polar": {"geometry": "polar", "curvature": 0.7},
    "lorentz with the time last": {"geometry": "lorentz-last"},
    "text": {"labels": np.array(["ant", "bee", "cat"])},
    "text of numbers": {"labels": np.array(["3", "7", "x"])},
    "fractions": {"labels": np.array([-1.0, 0.0, 2.0])},
    "ball": {"uncertainty": GeodesicBall(0.05)},
}


def close(values: Any, others: Any, rel: float) -> bool:
    return bool(np.allclose(values, others, rtol=rel, atol=rel))


@pytest.mark.parametrize("case", VALID)
def test_the_same_answer(container, data, case):
    X, y = data
    settings = dict(VALID[case])
    weight, labels = settings.pop("weight", None), settings.pop("labels", np.arange(3))
    y = labels[y]
    X = from_lorentz(X, settings.get("geometry", "lorentz"), settings.get("curvature", 1.0))
    reference = HyperbolicSVC(tol=1e-9, **settings).fit(X, y, weight)
    given, *beside = container.put(X, y, weight)
    model = HyperbolicSVC(tol=1e-9, **settings).fit(given, *beside)
    assert model.classes_.tolist() == reference.classes_.tolist()
    for name in ("objective", "lower_bound"):
        values, others = ([getattr(s, name) for s in one.solutions_] for one in (model, reference))
        assert close(values, others, 2e-9), name
    assert close(model.probA_, reference.probA_, 1e-5)
    assert close(model.probB_, reference.probB_, 1e-5)
    np.testing.assert_array_equal(on_host(model.predict(given)), reference.predict(X))
    assert close(on_host(model.predict_proba(given)), reference.predict_proba(X), 1e-6)
    assert close(on_host(model.decision_function(given)), reference.decision_function(X), 1e-6)
    score = model.score(given, *beside)
    assert score == pytest.approx(reference.score(X, y, weight))


@pytest.mark.parametrize("container", BESIDE, indirect=True)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_other_formats_of_numbers(container, data, dtype):
    X, y = data
    geometry = "tangent" if dtype == "int64" else "lorentz"
    X = np.rint(3.0 * from_lorentz(X, "tangent")) if dtype == "int64" else X
    X = X.astype(dtype)
    reference = HyperbolicSVC(geometry=geometry, tol=1e-9).fit(X, y)
    given, *beside = container.put(X, y)
    model = HyperbolicSVC(geometry=geometry, tol=1e-9).fit(given, *beside)
    assert close([s.objective for s in model.solutions_], [s.objective for s in reference.solutions_], 2e-9)
    np.testing.assert_array_equal(on_host(model.predict(given)), reference.predict(X))


# -- warnings ----------------------------------------------------------------------------------------------------------


def near_the_rim(X, y):
    return np.vstack([from_lorentz(X, "poincare"), [[1.0 - 1e-6, 0.0], [0.0, 1e-6 - 1.0]]]), np.append(y, [1, 2])


def long_vectors(X, y):
    tangent = from_lorentz(X, "tangent")
    tangent[[3, 70]] *= 1e6
    return tangent, y


WARNED = {
    "Klein for Poincaré": ("poincare", near_the_rim),
    "long tangent vectors": ("tangent", long_vectors),
}


def warned(act: Callable[[], Any]) -> tuple[Any, list[tuple[type, str]]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = act()
    return result, [(one.category, str(one.message)) for one in caught]


@pytest.mark.parametrize("case", WARNED)
def test_the_same_warnings(container, data, case):
    geometry, make = WARNED[case]
    X, y = make(*data)
    model = HyperbolicSVC(geometry=geometry)
    reference, expected = warned(lambda: model.fit(X, y).decision_function(X))
    given, *beside = container.put(X, y)
    answer, found = warned(lambda: on_host(model.fit(given, *beside).decision_function(given)))
    assert expected
    assert {kind for kind, _ in found} == {kind for kind, _ in expected}
    fit_warning = found[0]
    assert fit_warning == expected[0]
    assert close(answer, reference, 1e-5)


@pytest.mark.parametrize("container", BESIDE, indirect=True)
def test_a_column_of_labels_warns(container, data):
    X, y = data
    given, column, _ = container.put(X, y[:, None])
    _, expected = warned(lambda: HyperbolicSVC().fit(X, y[:, None]))
    _, found = warned(lambda: HyperbolicSVC().fit(given, column))
    assert found == expected
    assert len(found) == 1


# -- invalid input -----------------------------------------------------------------------------------------------------


def changed(rows: Any, value: Any, column: Any = slice(None)) -> Callable:
    def change(X: np.ndarray) -> np.ndarray:
        X = X.copy()
        X[rows, column] = value
        return X

    return change


def far(radius: float) -> np.ndarray:
    return lift(np.array([np.sinh(radius), 0.0]))


BAD_POINTS: dict[str, tuple[str, Callable]] = {
    "NaN": ("lorentz", changed(57, np.nan, 1)),
    "infinity": ("lorentz", changed([60, 80], np.inf, 0)),
    "huge": ("halfspace", changed(61, 1e200)),
    "huge Lorentz": ("lorentz", changed(61, 1e200)),
    "off the hyperboloid": ("lorentz", changed(44, [1.0, 3.0, 0.0])),
    "several off the hyperboloid": ("lorentz", changed([44, 45, 46], [1.0, 3.0, 0.0])),
    "outside the Poincaré ball": ("poincare", changed(71, [0.9, 0.9])),
    "outside the Klein ball": ("klein", changed(71, [0.9, 0.9])),
    "under the half-space": ("halfspace", changed(20, [0.5, -0.1])),
    "Poincaré as Lorentz": ("lorentz", lambda X: from_lorentz(X, "poincare")),
    "tangent as Lorentz": ("lorentz", lambda X: from_lorentz(X, "tangent")),
    "Lorentz as Poincaré": ("poincare", lambda X: lift(X)),
    "Lorentz as Klein": ("klein", lambda X: lift(X)),
    "time last": ("lorentz", lambda X: np.roll(X, -1, axis=1)),
    "one column": ("lorentz", lambda X: X[:, :1]),
    "no rows": ("lorentz", lambda X: X[:0]),
}
#: Points beyond the largest radius, in late blocks as well.
FAR_POINTS: dict[str, tuple[str, Callable]] = {
    "hyperboloid": ("lorentz", changed([44, 61], far(19.0))),
    "Poincaré ball": ("poincare", changed(71, [0.0, np.tanh(9.5)])),
    "edge of the Klein ball": ("klein", changed([3, 71], [0.0, -1.0])),
    "floor of the half-space": ("halfspace", changed(20, [0.5, 1e-12])),
    "long tangent vectors": ("tangent", changed(slice(10, 80, 10), [1e200, 3e200])),
}
BAD_LABELS: dict[str, Callable] = {
    "one class": lambda y: np.zeros_like(y),
    "names": lambda y: np.array([f"cell {k}" for k in range(len(y))]),
    "continuous": lambda y: y + np.random.default_rng(0).random(len(y)),
    "None": lambda y: np.where(np.arange(len(y)) == 60, None, np.array(["a", "b", "c"])[y]),
    "NaN": lambda y: np.where(np.arange(len(y)) == 60, np.nan, y),
    "infinite": lambda y: np.where(np.arange(len(y)) == 60, np.inf, y),
    "too short": lambda y: y[:-5],
    "none": lambda y: None,
}
BAD_WEIGHTS: dict[str, Callable] = {
    "negative": lambda y: np.where(np.arange(len(y)) == 66, -1.0, 1.0),
    "NaN": lambda y: np.where(np.arange(len(y)) == 66, np.nan, 1.0),
    "infinite": lambda y: np.where(np.arange(len(y)) == 66, np.inf, 1.0),
    "zero": lambda y: np.zeros(len(y)),
    "zero for a class": lambda y: (y != 1).astype(float),
    "text": lambda y: np.array(["heavy", "light"])[y % 2],
    "too short": lambda y: np.ones(len(y) - 5),
}
BAD_CLASS_WEIGHTS: dict[str, Any] = {
    "an unknown and a missing class": {0: 1.0, 7: 2.0},
    "infinite": {0: np.inf, 1: 1.0},
    "NaN": {0: np.nan, 1: 1.0},
    "negative": {0: -1.0, 1: 1.0},
    "zero": {1: 0.0},
    "a word": "heavy",
    "a list": [1.0, 2.0],
}


def complaint(act: Callable[[], Any]) -> tuple[type, str]:
    """The error of an action, without how many rows are like the one it names: a chunk does not know of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError)) as caught:
            act()
    text = re.sub(r"^chunk \d+, rows \d+ to \d+: ", "", str(caught.value))
    text = re.sub(r"got shape \(\d+, ", "got shape (n, ", text)
    return caught.type, re.sub(r" \(\d+ of \d+ rows are outside\)", "", text)


def same_complaint(container, X, y, weight=None, **settings) -> None:
    expected = complaint(lambda: HyperbolicSVC(**settings).fit(X, y, weight))
    given = container.put(X, y, weight)
    assert complaint(lambda: HyperbolicSVC(**settings).fit(*given)) == expected


@pytest.mark.parametrize("case", BAD_POINTS)
def test_the_same_complaint_about_points(container, data, case):
    X, y = data
    geometry, change = BAD_POINTS[case]
    bad = change(from_lorentz(X, geometry))
    same_complaint(container, bad, y[: len(bad)], geometry=geometry)


@pytest.mark.parametrize("case", BAD_POINTS)
def test_the_same_complaint_about_points_to_predict(container, data, case):
    X, y = data
    geometry, change = BAD_POINTS[case]
    good = from_lorentz(X, geometry)
    model, bad = HyperbolicSVC(geometry=geometry).fit(good, y), change(good)
    if case == "no rows" and container.name != "tensor":
        pytest.skip("an empty partition has an empty answer")
    expected = complaint(lambda: model.predict(bad))
    given, *_ = container.put(bad, y[: len(bad)])
    kind, text = complaint(lambda: on_host(model.predict(given)))
    if container.name == "dask":  # a task does not know the rows before its own
        text, expected = (re.sub(r"row \d+ of (a piece of )?X|x0 = .*?\)", "", t) for t in (text, expected[1]))
        assert text == expected
    else:
        assert (kind, text) == expected


def fitted_with_words(X, y, weight, to_predict, **settings) -> tuple[HyperbolicSVC, np.ndarray, list[str]]:
    """A model, its scores at new points, and what `RadiusWarning` said about the fit and about these."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = HyperbolicSVC(**settings).fit(X, y, weight)
        scores = on_host(model.decision_function(to_predict))
    return model, scores, [str(one.message) for one in caught if one.category is RadiusWarning]


@pytest.mark.parametrize("rim", ["clip", "drop", "error"])
@pytest.mark.parametrize("case", FAR_POINTS)
def test_the_same_is_done_with_points_beyond_the_largest_radius(container, data, case, rim):
    X, y = data
    geometry, change = FAR_POINTS[case]
    X = change(from_lorentz(X, geometry))
    if rim == "error":
        same_complaint(container, X, y, WEIGHTS, geometry=geometry, rim=rim)
        return
    expected, scores, words = fitted_with_words(X, y, WEIGHTS, X, geometry=geometry, rim=rim)
    given = container.put(X, y, WEIGHTS)
    points = given[0] if container.name in BESIDE else X
    model, own_scores, own_words = fitted_with_words(*given, points, geometry=geometry, rim=rim)
    for one, other in zip(model.solutions_, expected.solutions_, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=2e-6)  # both within 1e-6 of the optimum
    np.testing.assert_array_equal(np.argmax(own_scores, axis=1), np.argmax(scores, axis=1))
    assert own_words[0] == words[0]
    assert container.name == "dask" or own_words == words  # predictions of Dask are made a task at a time


@pytest.mark.parametrize("case", BAD_LABELS)
def test_the_same_complaint_about_labels(container, data, case):
    X, y = data
    if container.name not in BESIDE and case == "too short":
        pytest.skip("columns of a file have one length")
    if container.name == "csv" and case in ("continuous", "infinite", "NaN"):
        pytest.skip("fractions in text are names, and so is infinity; missing labels are None")
    same_complaint(container, X, BAD_LABELS[case](y))


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_the_same_complaint_about_weights(container, data, case):
    X, y = data
    if container.name not in BESIDE and case in ("too short", "text"):
        pytest.skip("columns of a file have one length, and a file has a sentence of its own for text")
    same_complaint(container, X, y, BAD_WEIGHTS[case](y))


@pytest.mark.parametrize("case", BAD_CLASS_WEIGHTS)
def test_the_same_complaint_about_class_weights(container, data, case):
    X, y = data
    same_complaint(container, X, y, class_weight=BAD_CLASS_WEIGHTS[case])


@pytest.mark.parametrize("container", ["chunks", "dask", "memmap"], indirect=True)
@pytest.mark.parametrize("kind", [complex, object])
def test_the_same_complaint_about_what_are_no_numbers(container, data, kind):
    X, y = data
    X = X.astype(kind)
    if kind is complex:
        same_complaint(container, X[:ROWS], y[:ROWS])  # whose message holds the rows
        return
    if kind is object:
        if container.name == "memmap":
            pytest.skip("there are no maps of objects")
        X[50, 1] = "three"
    same_complaint(container, X, y)


def test_the_contract_sees_differences(data):
    """The comparison above would pass if complaints were not told apart."""
    X, y = data
    nan, short = changed(57, np.nan, 1)(X), y[:-5]
    texts = {complaint(lambda X=X, y=y: HyperbolicSVC().fit(X, y)) for X, y in ((nan, y), (X, short), (X, 0 * y))}
    assert len(texts) == 3
