"""Dask: nothing is collected, partitions may be odd, and a worker that dies costs a retry."""

import os
import signal

import numpy as np
import pytest

from hypermargin import HyperbolicForestClassifier, HyperbolicSVC, MarginProblem, Status, solve
from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.data.cluster import Cluster, dask_source
from hypermargin.data.readers import ArrayChunks, Rows
from hypermargin.datasets import make_gaussian_mixture

da = pytest.importorskip("dask.array")
pd = pytest.importorskip("pandas")
distributed = pytest.importorskip("distributed")

KINDS = np.array(["ant", "bee"])


@pytest.fixture(scope="module")
def data():
    X, y = make_gaussian_mixture(80, 2, scale=0.8, random_state=0, return_X_y=True)
    order = np.argsort(np.random.default_rng(0).random(len(y)) + 0.5 * y)  # classes are not spread evenly
    return X[order], KINDS[y[order]]


@pytest.fixture(scope="module")
def reference(data):
    return HyperbolicSVC().fit(*data)


def close(model: HyperbolicSVC, reference: HyperbolicSVC) -> bool:
    return all(
        np.allclose(getattr(model, name), getattr(reference, name), rtol=1e-7, atol=1e-8)
        for name in ("coef_", "probA_", "probB_")
    )


@pytest.fixture
def uncollectable(monkeypatch):
    """Arrays and dataframes of Dask that cannot be computed as a whole."""

    def refuse(*_, **__):
        raise AssertionError("the data was collected")

    for kind in (da.Array,):
        monkeypatch.setattr(kind, "__array__", refuse)
        monkeypatch.setattr(kind, "compute", refuse)


def test_arrays_are_fitted_where_they_are_with_odd_partitions(data, reference, uncollectable):
    """Empty partitions, partitions of one class, columns in chunks, and the local scheduler."""
    X, y = data
    rows = (0, 30, 0, 1, 99, 30)
    first_of_each = np.argsort(y, kind="stable")
    dX = da.from_array(X[first_of_each], chunks=(rows, (2, 1)))
    dy = da.from_array(y[first_of_each], chunks=(rows,))
    model = HyperbolicSVC().fit(dX, dy)
    assert close(model, reference)
    predicted = model.predict(dX)
    assert isinstance(predicted, da.Array)


def test_predictions_are_lazy_and_right(data, reference):
    X, y = data
    dX = da.from_array(X, chunks=(37, 3))
    model = HyperbolicSVC().fit(dX, y)  # labels in memory are split like the points
    np.testing.assert_array_equal(model.predict(dX).compute(), reference.predict(X))
    np.testing.assert_allclose(model.predict_proba(dX).compute(), reference.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(model.decision_function(dX).compute(), reference.decision_function(X), atol=1e-7)
    assert model.score(dX, da.from_array(y, chunks=37)) == pytest.approx(reference.score(X, y))


def test_dataframes(data, reference):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(data[0], columns=["t", "a", "b"]).assign(kind=data[1])
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    model = HyperbolicSVC().fit(parts[["t", "a", "b"]], parts["kind"])
    assert close(model, reference)
    assert model.feature_names_in_.tolist() == ["t", "a", "b"]
    np.testing.assert_array_equal(model.predict(parts[["t", "a", "b"]]).compute(), reference.predict(data[0]))


def test_partitions_that_do_not_fit_are_refused(data):
    X, y = data
    dX = da.from_array(X, chunks=(40, 3))
    with pytest.raises(ValueError, match="4 partitions and y has 2"):
        HyperbolicSVC().fit(dX, da.from_array(y, chunks=80))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        HyperbolicSVC().fit(dX, y[:-1])
    bad = X.copy()
    bad[130, 0] = np.inf
    with pytest.raises(ValueError, match="row 130"):
        HyperbolicSVC().fit(da.from_array(bad, chunks=(40, 3)), y)


def test_labels_that_will_not_do_are_told_in_a_sentence(data):
    dd = pytest.importorskip("dask.dataframe")
    X, y = data
    frame = pd.DataFrame(X, columns=["t", "a", "b"]).assign(kind=y)
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    with pytest.raises(
        TypeError, match="y is the name 'kind': pass the column itself, as a Dask series, and X without"
    ):
        HyperbolicSVC().fit(parts, "kind")
    with pytest.raises(ValueError, match="could not convert string to float"):
        HyperbolicSVC().fit(parts, parts["kind"])
    missing = frame["kind"].where(frame.index != 133)
    with pytest.raises(ValueError, match="row 133 has no label"):
        HyperbolicSVC().fit(parts[["t", "a", "b"]], dd.from_pandas(missing, npartitions=3, sort=False))
    mixed = da.concatenate(
        [da.from_array(np.arange(80) % 2, chunks=80), da.from_array(y[80:].astype(object), chunks=80)]
    )
    with pytest.raises(ValueError, match="labels are numbers in chunk 0 and text in chunk 1"):
        HyperbolicSVC().fit(da.from_array(X, chunks=(80, 3)), mixed)


@pytest.mark.parametrize("kind", [object, str, "category", "string"])
def test_text_labels_of_every_kind_with_empty_partitions(data, reference, kind):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(data[0], columns=["t", "a", "b"]).assign(kind=pd.Series(data[1]).astype(kind))
    parts = dd.from_pandas(frame, npartitions=3, sort=False)
    none = parts[parts.t < 0.0]
    parts = dd.concat([none, parts, none])
    model = HyperbolicSVC().fit(parts[["t", "a", "b"]], parts["kind"])
    assert close(model, reference)
    assert model.predict(parts[["t", "a", "b"]]).compute().tolist() == reference.predict(data[0]).tolist()
    assert model.score(parts[["t", "a", "b"]], parts["kind"]) == pytest.approx(reference.score(*data))


def test_partitions_of_different_dtypes(data, reference):
    X, y = data
    kinds = [np.float64, np.longdouble, object]
    parts = [da.from_array(X[k::3].astype(kind), chunks=-1) for k, kind in enumerate(kinds)]
    labels = [da.from_array(y[k::3].astype(kind), chunks=-1) for k, kind in enumerate([str, object, "U9"])]
    delayed = [part.to_delayed()[0, 0] for part in parts]  # blocks that keep their own dtype
    rows = [da.from_delayed(one, shape=part.shape, dtype=float) for one, part in zip(delayed, parts, strict=True)]
    assert close(HyperbolicSVC().fit(da.concatenate(rows), da.concatenate(labels)), reference)


def test_a_row_that_is_no_point_is_told_when_predictions_are_computed(data, reference):
    bad = data[0].copy()
    bad[130, 1] = np.nan
    answer = reference.predict(da.from_array(bad, chunks=(40, 3)))
    with pytest.raises(ValueError, match="row 10 of a piece of X holds NaN"):
        answer.compute()


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        distributed.Client(local) as client,
    ):
        yield client


def test_a_worker_killed_in_the_middle_of_a_fit_costs_a_retry(data, client):
    X, y = data
    asked, killed = [], []

    class Watched(Cluster):
        def map_blocks(self, function, *arguments):
            asked.append(function)
            if len(asked) == 12 and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)
            return super().map_blocks(function, *arguments)

    rows = dask_source(da.from_array(X, chunks=(40, 3)), da.from_array(y, chunks=40))
    assert isinstance(rows, Cluster)
    pieces = Watched(client, rows.map(_problem).bundles)
    solution = solve(BlockedProblem(pieces, 2.0))
    reference = solve(MarginProblem(X, np.where(y == "bee", 1.0, -1.0), 2.0))
    assert killed
    assert len(asked) > 20
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(reference.objective, rel=1e-8)


def test_a_worker_killed_while_working_sets_are_collected(client):
    """In many dimensions: few questions, and samples among the answers."""
    client.wait_for_workers(2)
    X, y = make_gaussian_mixture(1500, 2, dim=12, scale=0.9, random_state=0, return_X_y=True)
    asked = []

    class Watched(Cluster):
        def map_blocks(self, function, *arguments):
            asked.append(function)
            if len(asked) == 5:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            return super().map_blocks(function, *arguments)

    rows = dask_source(da.from_array(X, chunks=(400, 13)), da.from_array(KINDS[y], chunks=400))
    solution = solve(BlockedProblem(Watched(client, rows.map(_problem).bundles), 2.0))
    reference = solve(MarginProblem(X, 2.0 * y - 1.0, 2.0), cuts="plain")
    assert 5 < len(asked) < 40
    assert solution.status is reference.status is Status.OPTIMAL
    assert solution.certificate.shared
    assert solution.objective == pytest.approx(reference.objective, rel=2e-6)
    assert solution.certificate.verify(MarginProblem(X, 2.0 * y - 1.0, 2.0)) == pytest.approx(
        solution.lower_bound, rel=1e-9
    )


def test_questions_travel_as_messages_and_as_tasks_where_bundles_have_moved(client):
    """The same answers in the order of the pieces, also where the home is wrong about who has which bundle."""
    client.wait_for_workers(2)
    parts = [np.arange(k, 2 * k + 1.0) for k in range(7)]
    home = dask_source(da.concatenate([da.from_array(part[:, None], chunks=-1) for part in parts]))
    doubled = home.map(_doubled, 2.0)
    sent, submitted = [], []

    class Spy:
        """A client that counts what goes by message and what by task."""

        def __getattr__(self, name):
            {"run": sent, "submit": submitted}.get(name, []).append(name)
            return getattr(client, name)

    watched = Cluster(Spy(), doubled.bundles)
    expected = [2.0 * part.sum() + 1.0 for part in parts]
    assert watched.map_blocks(_total, 1.0) == expected
    assert (len(sent), len(submitted)) == (1, 0)
    assert len(doubled.bundles) == len({worker for workers in client.who_has().values() for worker in workers})
    workers, keys = zip(*watched._holders.items(), strict=True)
    watched._holders = dict(zip(workers, keys[::-1], strict=True))  # as if the bundles had changed places since
    assert watched.map_blocks(_total, 1.0) == expected
    assert (len(sent), len(submitted)) == (2, len(doubled.bundles))
    with pytest.raises(ZeroDivisionError, match="piece of 7"):
        watched.map_blocks(_failing)
    assert home.grouped(_total, _listed, [1.0, 2.0]) == [[k, *(part.sum() + k for part in parts)] for k in (1.0, 2.0)]


def _doubled(rows, factor):
    return Rows(factor * rows.X)


def _total(rows, offset):
    return rows.X.sum() + offset


def _failing(rows):
    if len(rows) == 7:
        raise ZeroDivisionError("in the piece of 7")


def _listed(answers, item):
    return [item, *answers]


def _problem(rows) -> MarginProblem:
    return MarginProblem(rows.X, np.where(rows.y == "bee", 1.0, -1.0))


def test_an_error_on_a_worker_is_an_error_here(data, client):
    """Found by its row, and not retried as if the worker had died."""
    X = data[0].copy()
    X[130, 1] = np.nan
    model = HyperbolicSVC()
    with pytest.raises(ValueError, match="row 130 of X holds NaN"):
        model.fit(da.from_array(X, chunks=(40, 3)), da.from_array(data[1], chunks=40))
    assert not hasattr(model, "classes_")


def test_binary_problems_are_solved_by_workers_through_joblib(client):
    import joblib

    X, y = make_gaussian_mixture(20, 4, scale=0.5, random_state=0, return_X_y=True)
    alone = HyperbolicSVC().fit(X, y)
    with joblib.parallel_config("dask"):
        model = HyperbolicSVC(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(model.coef_, alone.coef_)


def test_forests_grow_and_predict_on_the_workers(data, client, uncollectable):
    """The same trees as from the same partitions here, since what is drawn depends on the partition alone."""
    X, y = data
    dX, dy = da.from_array(X, chunks=(40, 3)), da.from_array(y, chunks=40)
    setting = dict(n_estimators=6, max_samples=100, random_state=0)
    model = HyperbolicForestClassifier(**setting).fit(dX, dy)
    here = HyperbolicForestClassifier(**setting).fit(ArrayChunks(X, rows=40), y)
    np.testing.assert_array_equal(model.predict_proba(X), here.predict_proba(X))
    lazy = model.predict(dX)
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(
        np.concatenate(client.gather(client.compute(lazy.to_delayed().tolist()))), here.predict(X)
    )
    assert model.score(dX, dy) == here.score(X, y)
