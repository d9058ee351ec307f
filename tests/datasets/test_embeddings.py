"""The paper's embeddings: from a folder, from a server, labels of any type, and what is said when there is neither."""

import functools
import hashlib
import http.server
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from hypermargin.datasets import embeddings, fetch_embedding, list_embeddings

#: Samples and classes by the sources of the data: 34 club members, 115 teams in 12 conferences, 60,000 images...
SIZES = {
    "karate": (34, 2),
    "football": (115, 12),
    "polbooks": (105, 3),
    "cifar": (60000, 10),
    "fashion-mnist": (70000, 10),
}

needs_data = pytest.mark.skipif(
    not os.environ.get("HYPERMARGIN_DATA"), reason="HYPERMARGIN_DATA does not name the folder of the paper's embeddings"
)


def write_embedding(folder: Path, labels: np.ndarray) -> dict[str, str]:
    """A small embedding as files; returns their checksums."""
    folder.mkdir(parents=True)
    space = np.random.default_rng(0).normal(size=(len(labels), 2))
    np.save(folder / "X_lorentz.npy", np.column_stack([np.hypot(1.0, np.hypot(*space.T)), space]))
    np.save(folder / "y.npy", labels)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture
def server(tmp_path):
    """Serves ``tmp_path / "site"`` on this machine; yields its address and a function that stops it."""
    handler = functools.partial(_QuietHandler, directory=str(tmp_path / "site"))
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()

    def stop():
        running.shutdown()
        thread.join()
        running.server_close()

    yield f"http://127.0.0.1:{running.server_port}", stop
    if thread.is_alive():
        stop()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def published(tmp_path, monkeypatch, server):
    """The karate embedding of the registry replaced by one served on this machine; yields the stop function."""
    address, stop = server
    sums = write_embedding(tmp_path / "site" / "revision" / "data" / "karate", np.array([0, 1] * 10, dtype=np.uint8))
    entry = embeddings.Published("served here", "revision", sums["X_lorentz.npy"], sums["y.npy"])
    monkeypatch.setitem(embeddings.EMBEDDINGS, "karate", entry)
    monkeypatch.setattr(embeddings, "REPOSITORY", address)
    monkeypatch.delenv("HYPERMARGIN_DATA", raising=False)
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    return stop


def test_fetches_once_and_then_reads_what_it_kept(published, tmp_path):
    first = fetch_embedding("karate", data_home=tmp_path / "kept")
    served = tmp_path / "site" / "revision" / "data" / "karate" / "X_lorentz.npy"
    np.testing.assert_allclose(first.X, np.load(served), rtol=1e-14)
    published()  # the server is gone
    np.testing.assert_array_equal(fetch_embedding("karate", data_home=tmp_path / "kept").X, first.X)


def test_a_file_that_is_not_the_published_one_is_refused(published, tmp_path):
    served = tmp_path / "site" / "revision" / "data" / "karate" / "X_lorentz.npy"
    served.write_bytes(served.read_bytes()[:-1] + b"!")
    with pytest.raises(ValueError, match="hash"):
        fetch_embedding("karate", data_home=tmp_path / "kept")


def test_without_network_or_folder_the_error_says_what_to_set(published, tmp_path):
    published()
    with pytest.raises(ConnectionError, match=r"set HYPERMARGIN_DATA to a folder that holds karate/X_lorentz.npy"):
        fetch_embedding("karate", data_home=tmp_path / "kept")


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "float64", "bool", "U1"])
def test_labels_of_any_type_survive_the_usual_map_to_signs(tmp_path, monkeypatch, dtype):
    labels = np.array([0, 1, 1, 0, 1])
    write_embedding(tmp_path / "karate", labels.astype(dtype))
    monkeypatch.setenv("HYPERMARGIN_DATA", str(tmp_path))
    y = fetch_embedding("karate").y
    assert y.dtype == np.int64
    assert (2 * y - 1).tolist() == [-1, 1, 1, -1, 1]


def test_unknown_names_and_missing_files(tmp_path, monkeypatch):
    monkeypatch.setenv("HYPERMARGIN_DATA", str(tmp_path))
    with pytest.raises(
        ValueError, match=r"unknown embedding 'karat'; the embeddings are tree_1, .*karate.*fashion-mnist"
    ):
        fetch_embedding("karat")
    with pytest.raises(FileNotFoundError, match="HYPERMARGIN_DATA must name the folder"):
        fetch_embedding("karate")
    write_embedding(tmp_path / "karate", np.array([0, 1]))
    np.save(tmp_path / "karate" / "y.npy", np.array([0, 1, 1]))
    with pytest.raises(ValueError, match=r"2 points but .* 3 labels"):
        fetch_embedding("karate")


def test_thirteen_names_each_at_a_fixed_revision():
    assert len(list_embeddings()) == 13
    for entry in embeddings.EMBEDDINGS.values():
        assert len(bytes.fromhex(entry.revision)) == 20
        assert len(bytes.fromhex(entry.points_sha256)) == len(bytes.fromhex(entry.labels_sha256)) == 32


@needs_data
@pytest.mark.parametrize("name", list_embeddings())
def test_the_papers_files(name):
    folder = Path(os.environ["HYPERMARGIN_DATA"]) / name
    entry = embeddings.EMBEDDINGS[name]
    assert hashlib.sha256((folder / "X_lorentz.npy").read_bytes()).hexdigest() == entry.points_sha256
    assert hashlib.sha256((folder / "y.npy").read_bytes()).hexdigest() == entry.labels_sha256
    data = fetch_embedding(name)
    np.testing.assert_array_equal(data.y, np.load(folder / "y.npy").astype(np.int64))
    if name in SIZES:
        assert (len(data.y), len(np.unique(data.y))) == SIZES[name]
