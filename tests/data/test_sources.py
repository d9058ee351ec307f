"""Files and arrays in chunks, and everything that can be wrong with them."""

import os
import shutil
import tempfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from hypermargin import HyperbolicSVC
from hypermargin.data import executors, inputs
from hypermargin.data.inputs import is_blocked
from hypermargin.data.readers import ArrayChunks, CsvFile, ParquetFile
from hypermargin.datasets import make_gaussian_mixture

KINDS = np.array(["ant", "bee", "cat"])
COLUMNS = ["t", "a", "b"]


@pytest.fixture(scope="module")
def data():
    X, y = make_gaussian_mixture(60, 3, scale=0.7, random_state=0, return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], KINDS[y[order]]


@pytest.fixture(scope="module")
def reference(data):
    return HyperbolicSVC().fit(*data)


@pytest.fixture
def files(data, tmp_path):
    frame = pd.DataFrame(data[0], columns=COLUMNS)
    frame["kind"], frame["weight"] = data[1], np.linspace(0.5, 2.0, len(frame))
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "points.parquet", row_group_size=50)
    frame.to_csv(tmp_path / "points.csv", index=False, float_format="%.17g")
    return tmp_path


def close(model: HyperbolicSVC, reference: HyperbolicSVC) -> bool:
    return all(
        np.allclose(getattr(model, name), getattr(reference, name), rtol=1e-7, atol=1e-8)
        for name in ("coef_", "probA_", "probB_")
    )


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_chunks_give_the_classifier_of_the_whole(data, multi_class):
    X, y = data
    whole = HyperbolicSVC(multi_class=multi_class, class_weight="balanced").fit(X, y)
    chunks = ArrayChunks(X, rows=17)
    model = HyperbolicSVC(multi_class=multi_class, class_weight="balanced").fit(chunks, y)
    assert close(model, whole)
    np.testing.assert_array_equal(model.predict(chunks), whole.predict(X))
    np.testing.assert_allclose(model.predict_proba(chunks), whole.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(model.decision_function(chunks), whole.decision_function(X), atol=1e-7)
    assert model.score(chunks, y) == pytest.approx(whole.score(X, y))
    problems = model.binary_problems(chunks, y)
    for solution, problem in zip(model.solutions_, problems, strict=True):
        assert solution.certificate.verify(problem) == pytest.approx(solution.lower_bound, rel=1e-9)


def test_other_geometries_and_weights_in_chunks(data):
    X, y = data
    P = X[:, 1:] / (1.0 + X[:, :1])
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    whole = HyperbolicSVC(geometry="poincare").fit(P, y, weight)
    model = HyperbolicSVC(geometry="poincare").fit(ArrayChunks(P, rows=50), y, weight)
    assert close(model, whole)


@pytest.mark.parametrize("name", ["points.parquet", "points.csv"])
def test_files_give_the_classifier_of_the_arrays(files, data, reference, name):
    path = str(files / name)
    frame = pd.read_csv(files / "points.csv", float_precision="round_trip")
    np.testing.assert_array_equal(frame[COLUMNS].to_numpy(), data[0])
    source = type(inputs.open_table(path))(path, label="kind", columns=COLUMNS, rows=40)
    model = HyperbolicSVC().fit(source, None)
    assert close(model, reference)
    assert model.feature_names_in_.tolist() == COLUMNS
    np.testing.assert_array_equal(model.predict(path), reference.predict(data[0]))  # finds its columns by name
    assert model.score(path, "kind") == pytest.approx(reference.score(*data))
    heavy = HyperbolicSVC().fit(path, "kind", "weight")
    assert close(heavy, HyperbolicSVC().fit(*data, np.linspace(0.5, 2.0, len(data[1]))))


def test_text_is_read_once(files, reference, monkeypatch, tmp_path):
    """Points are kept in memory, or in files; without room for either the text is read for every pass."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    read = []

    class Counted(CsvFile):
        def __iter__(self):
            read.append(self)
            return super().__iter__()

    source = Counted(files / "points.csv", label="kind", columns=COLUMNS, rows=40)
    assert close(HyperbolicSVC().fit(source, None), reference)
    assert len(read) == 1
    made = []
    monkeypatch.setattr(executors, "free_memory", lambda: 0.0)
    monkeypatch.setattr(executors, "DiskCache", lambda kind=executors.DiskCache: made.append(kind()) or made[-1])
    assert close(HyperbolicSVC().fit(source, None), reference)
    assert len(read) == 2
    assert len(made) == 1
    made.clear()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("hypermargin-")]  # all tidied up
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    model = HyperbolicSVC().fit(source, None)
    assert close(model, reference)
    assert len(read) > 3 + model.n_iter_.max()  # classes are in step, so that the slowest counts


def test_a_large_memory_map_is_read_in_chunks(data, reference, tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", data[0])
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert not is_blocked(X)  # it fits into memory
    monkeypatch.setattr(inputs, "free_memory", lambda: 1000.0)
    assert is_blocked(X)
    model = HyperbolicSVC().fit(X, data[1])
    assert close(model, reference)
    np.testing.assert_array_equal(model.predict(X), reference.predict(data[0]))


def test_nan_in_a_late_chunk_is_found_by_its_row_and_nothing_is_fitted(data):
    X = data[0].copy()
    X[157, 1] = np.nan
    model = HyperbolicSVC()
    with pytest.raises(ValueError, match="row 157"):
        model.fit(ArrayChunks(X, rows=50), data[1])
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "coef_")


def test_points_off_the_hyperboloid_are_named_by_their_row(data):
    X = data[0].copy()
    X[120] = [1.0, 3.0, 0.0]
    with pytest.raises(ValueError, match=r"row 120 of X is not on the hyperboloid"):
        HyperbolicSVC().fit(ArrayChunks(X, rows=50), data[1])


def test_chunks_of_different_dtypes_and_a_class_missing_from_some(data, reference):
    X, y = data
    order = np.argsort(y, kind="stable")

    class Mixed(ArrayChunks):
        def __iter__(self):
            for k, rows in enumerate(super().__iter__()):
                wide = np.longdouble if k % 2 else object
                yield type(rows)(rows.X.astype(wide), rows.y.astype(object if k % 2 else str), None)

    model = HyperbolicSVC().fit(Mixed(X[order], y[order], rows=45), None)
    assert close(model, reference)


def test_labels_must_be_of_one_kind(data):
    X, y = data
    mixed = np.array([*range(len(y) // 2), *y[len(y) // 2 :]], dtype=object)

    class Mixed(ArrayChunks):
        def __iter__(self):
            for rows in super().__iter__():
                yield type(rows)(rows.X, np.array(rows.y.tolist()), None)

    with pytest.raises(ValueError, match="labels are numbers in chunk 0 and text in chunk 1"):
        HyperbolicSVC().fit(Mixed(X, mixed, rows=len(y) // 2), None)


def test_a_row_without_a_label_is_named(files, data):
    lines = (files / "points.csv").read_text(encoding="utf-8").splitlines()
    cells = lines[1 + 133].split(",")
    lines[1 + 133] = ",".join([*cells[:3], "", cells[4]])
    (files / "points.csv").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match="row 133 has no label"):
        HyperbolicSVC().fit(CsvFile(files / "points.csv", label="kind", columns=COLUMNS, rows=40), None)
    labels = data[1].astype(object)
    labels[99] = None
    with pytest.raises(ValueError, match="row 99 has no label"):
        HyperbolicSVC().fit(ArrayChunks(data[0], rows=40), labels)


def test_weights_that_will_not_do_are_named(data):
    weight = np.ones(len(data[1]))
    weight[44] = -1.0
    with pytest.raises(ValueError, match=r"must not be negative \(row 44\)"):
        HyperbolicSVC().fit(ArrayChunks(data[0], rows=40), data[1], weight)


def test_a_file_that_changes_while_it_is_read_is_an_error(files):
    source = CsvFile(files / "points.csv", label="kind", columns=COLUMNS, rows=30)
    chunks = iter(source)
    next(chunks)
    with (files / "points.csv").open("a", encoding="utf-8") as file:
        file.write("1,0,0,ant,1\n")
    with pytest.raises(ValueError, match="changed while it was read"):
        next(chunks)
    with pytest.raises(ValueError, match="changed while it was read"):
        HyperbolicSVC().fit(source, None)


def test_a_parquet_file_that_is_written_anew_is_an_error_in_our_words(files):
    """Half of it may be there, which the reader cannot make sense of; or another one with the same columns."""
    path = files / "points.parquet"
    whole = path.read_bytes()
    other = pd.read_parquet(path).iloc[::-1]
    for damage in (lambda: path.write_bytes(whole[: len(whole) // 2]), lambda: other.to_parquet(path), path.unlink):
        path.write_bytes(whole)
        source = ParquetFile(path, label="kind", columns=COLUMNS, rows=30)
        chunks = iter(source)
        next(chunks)
        damage()
        with pytest.raises(ValueError, match="changed while it was read"):
            list(chunks)
        with pytest.raises(ValueError, match="changed while it was read"):
            HyperbolicSVC().fit(source, None)


def test_the_file_of_a_memory_map_must_not_change(data, tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, data[0])
    source = ArrayChunks(np.load(path, mmap_mode="r"), rows=50)
    model = HyperbolicSVC().fit(source, data[1])
    own = np.load(path, mmap_mode="r+")
    own[:] = data[0][::-1]
    own.flush()
    os.utime(path, ns=(0, 0))  # also where clocks are coarse
    with pytest.raises(ValueError, match=r"X\.npy changed while it was read"):
        HyperbolicSVC().fit(source, data[1])
    with pytest.raises(ValueError, match=r"X\.npy changed while it was read"):
        model.predict(source)
    reversed_labels = model.predict(ArrayChunks(own, rows=50))  # who writes himself knows what he does
    np.testing.assert_array_equal(reversed_labels, model.predict(data[0])[::-1])


def test_predictions_name_the_row_that_is_no_point(data, reference):
    nan, off = data[0].copy(), data[0].copy()
    nan[157, 1], off[120] = np.nan, [1.0, 3.0, 0.0]
    for ask in (reference.predict, reference.predict_proba):
        with pytest.raises(ValueError, match="row 157 of X holds NaN"):
            ask(ArrayChunks(nan, rows=50))
        with pytest.raises(ValueError, match="row 120 of X is not on the hyperboloid"):
            ask(ArrayChunks(off, rows=50))
    with pytest.raises(ValueError, match="Complex"):
        HyperbolicSVC().fit(ArrayChunks(data[0].astype(complex)), data[1])


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda d: CsvFile(d / "points.csv", label="nope"), "no column 'nope'; its columns are t, a, b, kind, weight"),
        (lambda d: ParquetFile(d / "none.parquet"), "there is no file"),
        (lambda d: list(CsvFile(d / "points.csv")), "column 'kind' holds '.*', which is not a number"),
        (lambda d: ArrayChunks(np.ones((4, 3)), y=np.ones(3)), "X has 4 rows and y has 3 entries"),
        (lambda d: ArrayChunks(np.ones((4, 3)), rows=0), "at least one row"),
        (lambda d: HyperbolicSVC().fit(str(d / "points.csv"), np.ones(3)), "name of a column"),
        (lambda d: HyperbolicSVC().fit(str(d / "points.npz"), "kind"), "files read in chunks end in"),
    ],
)
def test_what_is_wrong_with_a_source_is_said(files, make, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        make(files)


def test_one_class_and_sizes_of_single_samples_are_refused(data):
    from hypermargin import GeodesicBall

    X, y = data
    with pytest.raises(ValueError, match="one class only"):
        HyperbolicSVC().fit(ArrayChunks(X, rows=50), np.full(len(y), "ant"))
    with pytest.raises(ValueError, match="one size for all"):
        HyperbolicSVC(uncertainty=GeodesicBall(np.full(len(y), 0.1))).fit(ArrayChunks(X, rows=50), y)
    with pytest.raises(ValueError, match="X has 3 features"):
        HyperbolicSVC(geometry="poincare").fit(X[:, 1:] / (1.0 + X[:, :1]), y).predict(ArrayChunks(X))
