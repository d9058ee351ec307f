"""Embeddings: the paper's thirteen, from a folder or its public repository (MIT licence), and the karate club.

Fetched files are checked against the SHA-256 in `embeddings.json`.
"""

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
import pooch
from numpy.typing import ArrayLike

from hypermargin.datasets.bunch import Dataset, Labels, as_dataset
from hypermargin.embedding import embed_metric
from hypermargin.geometry.models import to_lorentz

#: Environment variable naming a folder that holds ``<name>/X_lorentz.npy`` and ``<name>/y.npy``.
DATA_VARIABLE = "HYPERMARGIN_DATA"
POINTS, LABELS = "X_lorentz.npy", "y.npy"
REPOSITORY = "https://raw.githubusercontent.com/yangshengaa/hsvm-relax"


class Published(NamedTuple):
    """One embedding: a description, its revision in the repository and the checksums of its two files.

    The content of an address with a revision in it never changes.
    """

    description: str
    revision: str
    points_sha256: str
    labels_sha256: str


EMBEDDINGS = {
    name: Published(**entry)
    for name, entry in json.loads(files("hypermargin.datasets").joinpath("embeddings.json").read_bytes()).items()
}


def list_embeddings() -> tuple[str, ...]:
    """The names that `fetch_embedding` accepts."""
    return tuple(EMBEDDINGS)


def fetch_embedding(name: str, *, data_home: str | os.PathLike[str] | None = None, return_X_y: bool = False) -> Dataset:
    """One of the paper's embeddings in the hyperbolic plane.

    If the environment variable HYPERMARGIN_DATA names a folder, ``<folder>/<name>/X_lorentz.npy`` and ``y.npy`` are
    read from it. Otherwise both files are fetched once, checked against their SHA-256 and kept in `data_home`.

    Parameters
    ----------
    name : str
        One of `list_embeddings()`.
    data_home : path, optional
        The folder for fetched files; the user's cache folder by default.
    return_X_y : bool
        Return ``(X, y)`` only.

    Returns
    -------
    Bunch with X (n, 3), y (n,) of integers 0, 1, ..., whatever the type on disk, and description.
    """
    if name not in EMBEDDINGS:
        raise ValueError(f"unknown embedding {name!r}; the embeddings are {', '.join(EMBEDDINGS)}")
    folder = os.environ.get(DATA_VARIABLE)
    if folder:
        points, labels = (_local(Path(folder) / name / file) for file in (POINTS, LABELS))
    else:
        entry = EMBEDDINGS[name]
        cache = Path(data_home) if data_home is not None else Path(pooch.os_cache("hypermargin"))
        points = _download(name, POINTS, entry.points_sha256, cache)
        labels = _download(name, LABELS, entry.labels_sha256, cache)
    X = to_lorentz(np.load(points, allow_pickle=False), "lorentz")
    y = as_class_numbers(np.load(labels, allow_pickle=False))
    if len(X) != len(y):
        raise ValueError(f"{points} has {len(X)} points but {labels} has {len(y)} labels")
    return as_dataset(return_X_y, X=X, y=y, description=f"{EMBEDDINGS[name].description}; embedding of hsvm-relax.")


def as_class_numbers(labels: ArrayLike) -> Labels:
    """Labels of any type as 64-bit integers 0, 1, ... in sorted order.

    The files hold uint8, int32, int64 and float64; in uint8 the usual ``2 * y - 1`` wraps round to 255.
    """
    return np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)


def _local(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist; {DATA_VARIABLE} must name the folder that holds <name>/{path.name}"
        )
    return path


def _download(name: str, file: str, sha256: str, cache: Path) -> Path:
    url = f"{REPOSITORY}/{EMBEDDINGS[name].revision}/data/{name}/{file}"
    try:
        return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=file, path=cache / name))
    except OSError as error:  # what the network's errors derive from
        raise ConnectionError(
            f"could not fetch {url} ({type(error).__name__}); go online, or set {DATA_VARIABLE} to a folder "
            f"that holds {name}/{POINTS} and {name}/{LABELS}"
        ) from None  # pooch, urllib3 and requests chain the same error


def load_karate(*, return_X_y: bool = False) -> Dataset:
    """The 34 members of Zachary's karate club in the hyperbolic plane; the label is the club joined after the split.

    The distances embedded are those of shortest paths in the graph of friendships, one unit each, so the labels play no
    part. Computed at each call in a fraction of a second; the result is always the same.

    Returns
    -------
    Bunch with X (34, 3), y (34,), edges (78, 2), target_names ("Mr. Hi", "Officer") and description.
    """
    graph = nx.karate_club_graph()
    target_names = np.array(["Mr. Hi", "Officer"])
    clubs = [graph.nodes[member]["club"] for member in graph]
    return as_dataset(
        return_X_y,
        X=embed_metric(nx.floyd_warshall_numpy(graph, weight=None)),
        y=np.searchsorted(target_names, clubs),
        edges=np.array(graph.edges),
        target_names=target_names,
        description="Zachary's karate club: shortest-path distances embedded in the hyperbolic plane, labels the club.",
    )
