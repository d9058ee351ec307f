"""Model files: nothing is lost, nothing is run, and damage is told."""

import json
import pickle
import warnings
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier

from hypermargin.certificates import (
    Combination,
    DirectionBox,
    HardMarginCertificate,
    OverlapCertificate,
    RegionProof,
    SoftMarginCertificate,
)
from hypermargin.estimators import HyperbolicSVC, HyperbolicSVCCV, load_model, model_file, save_model
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from hypermargin.solvers import Outcome, Solver, Status, base
from reference.objective import lift


@pytest.fixture
def saved(four_blobs, tmp_path):
    model = HyperbolicSVC(solver="euclidean").fit(*four_blobs)
    save_model(model, tmp_path / "model.npz")
    return model, tmp_path / "model.npz"


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ä", "b", "c", "d"]),
        np.array(["ä", "b", "c", "d"], dtype=object),
        np.arange(4, dtype=np.uint8),
        np.array([-1.0, 0.0, 2.0, 3.0]),
        np.array([False, True, True, True]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_round_trip(four_blobs, solver, multi_class, labels, tmp_path):
    X, y = four_blobs
    model = HyperbolicSVC(solver=solver, multi_class=multi_class, C=2.0).fit(X, labels[y])
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert_array_equal(loaded.gaps_, model.gaps_)
    assert_array_equal(loaded.n_iter_, model.n_iter_)
    assert loaded.statuses_ == model.statuses_
    for ours, theirs in zip(loaded.solutions_, model.solutions_, strict=True):
        assert (ours.objective, ours.lower_bound, ours.status) == (theirs.objective, theirs.lower_bound, theirs.status)
        assert (ours.method, ours.loss, ours.time) == (theirs.method, theirs.loss, theirs.time)
        assert_array_equal(ours.w, theirs.w)
        if theirs.certificate is not None:
            assert ours.certificate.to_dict() == theirs.certificate.to_dict()
        for name, values in theirs.history.items():
            assert_array_equal(ours.history[name], values)


@dataclass(frozen=True)
class CertifyingSolver(Solver):
    """Returns w = 0 with a hand-made proof of the bound 0: no cut at all, on both halves of the t axis."""

    name: ClassVar[str] = "certifying"
    summary: ClassVar[str] = "w = 0 and the bound 0"

    def run(self, problem, tol):
        trivial = [RegionProof(sign, None, np.zeros(1), (Combination((), ()),)) for sign in (-1, 1)]
        box = DirectionBox(0, 1, -np.ones(1), np.ones(1) / 3)
        certificate = SoftMarginCertificate(
            centre=np.array([0.1, 1 / 3]),
            points=np.array([[0.0, 1.0, np.pi]]),
            regions=(*trivial, RegionProof(1, box, np.array([0.0, 0.5]), (Combination((0,), (0.3,), 0.1),) * 2)),
        )
        w = np.zeros(problem.dim + 1)
        return Outcome(w=w, status=Status.GAP_REMAINS, lower_bound=0.0, certificate=certificate)


def test_certificates_survive_the_model_file_and_skops(four_blobs, tmp_path, monkeypatch):
    monkeypatch.setitem(base._REGISTRY, "certifying", CertifyingSolver)
    model = HyperbolicSVC(solver="certifying").fit(*four_blobs)
    save_model(model, tmp_path / "model")
    data = skops.io.dumps(model)
    for loaded in (load_model(tmp_path / "model"), skops.io.loads(data, skops.io.get_untrusted_types(data=data))):
        assert loaded.solutions_[5].lower_bound == 0.0
        assert loaded.solutions_[5].certificate.to_dict() == model.solutions_[5].certificate.to_dict()


def test_save_is_a_method_of_every_classifier_that_files_hold(saved, tmp_path):
    model, path = saved
    model.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    assert all(kind.save is save_model for kind in model_file._CLASSES.values())


def test_a_classifier_from_before_the_softmax_predicts_as_it_did(four_blobs, tmp_path, monkeypatch):
    X, y = four_blobs
    model = HyperbolicSVC(multi_class="ovr", calibration="platt").fit(X, y)
    expected = model.predict_proba(X)
    state = model.__getstate__()
    del state["calibration"]  # as in pickles of then
    assert_array_equal(_revived(state).predict_proba(X), expected)
    parameters = model.get_params(deep=False)
    del parameters["calibration"]  # and in files
    monkeypatch.setattr(model, "get_params", lambda deep: parameters)
    save_model(model, tmp_path / "model")
    assert_array_equal(load_model(tmp_path / "model").predict_proba(X), expected)


def _revived(state):
    model = HyperbolicSVC.__new__(HyperbolicSVC)
    model.__setstate__(state)
    return model


def test_parameters_and_feature_names_keep_their_types(four_blobs, tmp_path):
    X, y = four_blobs
    model = HyperbolicSVC(
        solver="pgd",
        class_weight={np.int64(0): 2.0, 3: np.float64(0.5)},
        solver_options={"epochs": 5},
        random_state=np.int64(3),
    ).fit(pd.DataFrame(X, columns=["t", "u", "v"]), y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.class_weight == {0: 2.0, 3: 0.5}
    assert loaded.solver_options == {"epochs": 5}
    assert_array_equal(loaded.feature_names_in_, ["t", "u", "v"])
    assert_array_equal(loaded.fit(pd.DataFrame(X, columns=["t", "u", "v"]), y).coef_, model.coef_)


@pytest.mark.parametrize(
    "noise",
    [
        GeodesicBall(0.05),
        Box(0.01),
        CrossPolytope(0.01),
        Ball(np.linspace(0.0, 0.02, 40)),
        Ellipsoid([[0.02, 0.01], [0.0, 0.01]], 0.5),
    ],
    ids=lambda noise: type(noise).__name__,
)
def test_robust_models_keep_their_sets_and_fit_again_as_before(two_blobs, tmp_path, noise):
    X, y = two_blobs
    rows = np.arange(40) * len(y) // 40
    model = HyperbolicSVC(uncertainty=noise).fit(X[rows], y[rows])
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded.uncertainty) is type(noise)
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_array_equal(loaded.fit(X[rows], y[rows]).coef_, model.coef_)


def test_of_a_search_for_C_the_chosen_classifier_is_kept(four_blobs, tmp_path):
    X, y = four_blobs
    search = HyperbolicSVCCV([0.01, 1.0]).fit(X, y)
    save_model(search, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is HyperbolicSVC
    assert loaded.C == search.C_
    assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))


def test_files_of_the_first_version_load_with_their_certificates(three_blobs):
    """Written by the version before: robust one-vs-one of three blobs, certificates as text within the header."""
    X, y = three_blobs
    loaded = load_model(Path(__file__).with_name("model_of_version_1.npz"))
    again = HyperbolicSVC(**loaded.get_params()).fit(X, y)
    assert type(loaded) is HyperbolicSVC
    assert loaded.uncertainty.rho == 0.05
    assert loaded.class_weight == {0: 2.0, 1: 1.0, 2: 1.0}
    assert loaded.statuses_ == [Status.OPTIMAL] * 3
    assert_allclose(loaded.coef_, again.coef_, rtol=1e-5)
    assert_allclose(loaded.predict_proba(X), again.predict_proba(X), rtol=1e-5)
    for solution, problem in zip(loaded.solutions_, loaded.binary_problems(X, y), strict=True):
        assert solution.certificate.verify(problem) == pytest.approx(solution.lower_bound, rel=1e-12)


def test_a_class_of_ones_own_joins_by_two_methods(two_blobs, tmp_path, monkeypatch):
    X, y = two_blobs

    class Nearest(HyperbolicClassifier):
        """The class of the nearest of two stored points."""

        def __init__(self, geometry="lorentz", curvature=1.0):
            self.geometry = geometry
            self.curvature = curvature

        def fit(self, X, y):
            given = self._labelled_samples(X, y, None)
            self.classes_ = given.classes
            self.firsts_ = np.stack([given.X[given.labels == k][0] for k in (0, 1)])
            return self

        def predict(self, X):
            nearest = np.argmin(self._points(X) @ (self.firsts_ * [1.0, -1.0, -1.0]).T, axis=1)
            return self.classes_[nearest]

        def _stored(self):
            return {"firsts": self.firsts_}

        def _restore(self, state):
            self.firsts_ = state["firsts"]

    model = Nearest().fit(X, y)
    with pytest.raises(TypeError, match="not for Nearest"):
        save_model(model, tmp_path / "model")
    monkeypatch.setattr(model_file, "_CLASSES", dict(model_file._CLASSES))
    model_file.storable(Nearest)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert type(loaded) is Nearest
    assert_array_equal(loaded.predict(X), model.predict(X))


def test_certificates_are_plain_text_in_a_member_of_their_own(two_blobs, tmp_path):
    """Not as text within the text."""
    model = HyperbolicSVC().fit(*two_blobs)
    save_model(model, tmp_path / "model")
    with np.load(tmp_path / "model", allow_pickle=False) as archive:
        (certificate,) = json.loads(archive["certificates"].tobytes())
    assert certificate == model.solutions_[0].certificate.to_dict()


def test_certificates_can_be_left_out_or_left_unread(four_blobs, tmp_path):
    X, y = four_blobs
    model = HyperbolicSVC().fit(X, y)
    save_model(model, tmp_path / "whole")
    save_model(model, tmp_path / "small", certificates=False)
    for loaded in (load_model(tmp_path / "small"), load_model(tmp_path / "whole", certificates=False)):
        assert all(solution.certificate is None for solution in loaded.solutions_)
        assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert_array_equal(loaded.gaps_, model.gaps_)
        assert loaded.statuses_ == model.statuses_
    assert (tmp_path / "small").stat().st_size < 0.5 * (tmp_path / "whole").stat().st_size


def test_open_files_will_do(two_blobs):
    X, y = two_blobs
    model, file = HyperbolicSVC().fit(X, y), BytesIO()
    save_model(model, file)
    file.seek(0)
    assert_array_equal(load_model(file).predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="the file is not a hypermargin model"):
        load_model(BytesIO(b"hello"))


def test_many_classes_make_a_file_of_few_members(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 3)
    model = HyperbolicSVC().fit(lift(rng.normal(size=(36, 2)) + 2.0 * np.array([np.cos(y), np.sin(y)]).T), y)
    save_model(model, tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert len(archive.namelist()) < 10  # and 66 binary problems, each with several arrays


def test_proofs_about_the_hard_margin_are_kept(tmp_path):
    X, y = lift([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [-2.0, 1.0]]), np.array([1, 1, 0, 0])
    crossed = np.array([1, 0, 1, 0])
    for labels, kind in ((y, HardMarginCertificate), (crossed, OverlapCertificate)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nothing separates the second labels
            model = HyperbolicSVC(C=np.inf).fit(np.tile(X, (2, 1)), np.concatenate((labels, y)))
        save_model(model, tmp_path / "model")
        kept = load_model(tmp_path / "model").solutions_[0].certificate
        assert isinstance(kept, kind)
        assert kept.to_dict() == model.solutions_[0].certificate.to_dict()


def test_the_file_is_plain_arrays(saved):
    _, path = saved
    with np.load(path, allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        assert all(archive[name].dtype != object for name in archive.files)
    assert (header["format"], header["version"]) == ("hypermargin-model", 4)


def test_every_damaged_byte_range_is_noticed(saved):
    _, path = saved
    whole = path.read_bytes()
    for cut in (0, 1, 30, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="not a hypermargin model, or it is damaged"):
            load_model(path)
    # One bit in the stored data of each member: the archive's checksums must notice.
    path.write_bytes(whole)
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    for member in members[:: max(1, len(members) // 8)]:
        broken = bytearray(whole)
        broken[member.header_offset + 30 + len(member.filename) + 20 + member.compress_size // 2] ^= 0x10
        path.write_bytes(bytes(broken))
        with pytest.raises(ValueError, match="damaged"):
            load_model(path)


def rewrite(path, change):
    """Save the archive again with a changed header."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays["header"].tobytes())
    change(header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(format="other"), "is not a hypermargin model"),
        (lambda h: h.update(version=99), "format version 99; this hypermargin reads versions 1 to 4"),
        (lambda h: h.update({"class": "Oracle"}), "holds a Oracle, which this hypermargin does not know"),
        (lambda h: h["fitted"]["dict"][2][1]["table"][1][1].pop(), "is a hypermargin model, but it is damaged"),
        (lambda h: h.pop("classes"), "is a hypermargin model, but it is damaged"),
        (lambda h: h["parameters"]["dict"].append(["magic", 1]), "is a hypermargin model, but it is damaged"),
        (lambda h: h["fitted"]["dict"].pop(0), "is a hypermargin model, but it is damaged"),
    ],
)
def test_a_header_that_does_not_fit(saved, change, message):
    _, path = saved
    rewrite(path, change)
    with pytest.raises(ValueError, match=message):
        load_model(path)


def test_foreign_files(tmp_path):
    path = tmp_path / "foreign"
    path.write_text("hello")
    with pytest.raises(ValueError, match="not a hypermargin model"):
        load_model(path)
    with open(path, "wb") as file:
        np.savez(file, X=np.ones(3))
    with pytest.raises(ValueError, match="not a hypermargin model"):
        load_model(path)
    with open(path, "wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(ValueError, match="not a hypermargin model"):
        load_model(path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent")


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code was run')",))


def test_a_pickle_is_refused_and_not_run(tmp_path):
    path = tmp_path / "bomb"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match="not a hypermargin model"):
        load_model(path)
    with open(path, "wb") as file:
        np.savez(file, header=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match="not a hypermargin model"):
        load_model(path)


def test_what_cannot_be_kept_is_refused(two_blobs, tmp_path):
    X, y = two_blobs
    for unfitted in (HyperbolicSVC(), HyperbolicSVCCV()):
        with pytest.raises(ValueError, match="not fitted yet"):
            save_model(unfitted, tmp_path / "model")
    with pytest.raises(TypeError, match="not for DummyClassifier"):
        save_model(DummyClassifier().fit(X, y), tmp_path / "model")
    seeded = HyperbolicSVC(solver="euclidean", random_state=np.random.RandomState(0)).fit(X, y)
    with pytest.raises(ValueError, match="parameter random_state"):
        save_model(seeded, tmp_path / "model")

    class OwnBall(GeodesicBall):
        pass

    with pytest.raises(ValueError, match="nor an uncertainty set of hypermargin"):
        save_model(HyperbolicSVC(uncertainty=OwnBall(0.01)).fit(X, y), tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("choice.classifier_cv", "HyperbolicClassifierCV"),
        ("choice.blend", "HyperbolicBlend"),
        ("forest.forest_classifier", "HyperbolicForestClassifier"),
        ("forest.tree_classifier", "HyperbolicTreeClassifier"),
        ("neighbours.classifier", "HyperbolicKNeighborsClassifier"),
    ],
)
def test_pickles_find_classes_where_they_were(module, name):
    found = pickle.loads(f"chypermargin.estimators.{module}\n{name}\n.".encode())
    assert found.__name__ == name
    assert issubclass(found, HyperbolicClassifier)
