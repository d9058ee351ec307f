"""Embeddings: the paper's thirteen, from a folder or its public repository (MIT licence), and the karate club.

Fetched files are checked against the SHA-256 listed here.
"""

import os
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


# -- where they are published ------------------------------------------------------------------------------------------

REPOSITORY = "https://raw.githubusercontent.com/yangshengaa/hsvm-relax"

# Revisions of the repository: the content of an address with a revision in it never changes.
_TREES = "a3d5aedeaf99694be4bd50d7fd5e4dd3c457b557"
_OTHERS = "4f3cbc997288afd6468173b7b3cc6ce17ac4ebe6"


class Published(NamedTuple):
    """One embedding: a description, its revision in the repository and the checksums of its two files."""

    description: str
    revision: str
    points_sha256: str
    labels_sha256: str


EMBEDDINGS = {
    "tree_1": Published(
        "Tree embedding 1, labels by subtree (Mishne et al. 2023)",
        _TREES,
        "bc14dc1ee6e1b0aa17b61ec88d65ed843bd66674bc2f8d3d17a49ee280de52c7",
        "c4f3f754bfc776e81fbab219397767d5e4f7f4aa112992a7f224905ad9d9cd0b",
    ),
    "tree_2": Published(
        "Tree embedding 2, labels by subtree (Mishne et al. 2023)",
        _TREES,
        "9df2190d05aab9361ec798620e561fe41695aeaf3666d3a4b1de889f50b19499",
        "909c5a4e6bdd5516c7d39e90857f9fbc664ed46c6224ea2b87bf6d251d72b362",
    ),
    "tree_3": Published(
        "Tree embedding 3, labels by subtree (Mishne et al. 2023)",
        _TREES,
        "651da2e36abbca3ca9100738cdaa262c71aceb0faf189a3d51c1d0e986d89804",
        "c9485008f4463de77105f3e602659bfa43d86f541b6a7dd51fc44c6083d6b8a8",
    ),
    "karate": Published(
        "Zachary's karate club (Chien et al. 2021)",
        _OTHERS,
        "4334b8e3727a084a9ee5679a218de3f9ad718bdc10732171ee1acd550657b713",
        "042cb5e73e60201d58e234cb7bb62234284eae65d8d8af1cf1e56f3574ead30c",
    ),
    "football": Published(
        "American college football games by conference (Chien et al. 2021)",
        _OTHERS,
        "b6a62a964c8a7f2093e20494877710f91fbdeddfe2d21f26acf788f850cf2a7a",
        "2db86e6c780df575f367fec033202825c1d3464cb4516e2a3c4d35e225ad7d39",
    ),
    "polbooks": Published(
        "Books on American politics bought together (Chien et al. 2021)",
        _OTHERS,
        "3f23b6ed2cfa1ba578aaa216667683fe92221d09a34cc69e25db987d03a2ce11",
        "2f1aba8ed5ecb0966046afc66cee27bb91c910379f8787492649643053b29652",
    ),
    "krumsiek": Published(
        "Simulated myeloid progenitors (Krumsiek et al. 2011)",
        _OTHERS,
        "1f8e43be4d4323a864e1c395ca3281c01e0499c47e8bc7031ebdae98e7b2dd08",
        "165b76a1009e88e2ccb1117803b5cee96c3951441c8137e948dbde8f44acc903",
    ),
    "moignard": Published(
        "Blood cell development, single-cell expression (Moignard et al. 2015)",
        _OTHERS,
        "02b92565d1e5129b596be4d5ccf537e65b1e53d6a1db4f67748045d7f19e93c8",
        "1dcc1ca7cc0b67d06e0f3fe4e49b11bdf39dc69e4bbbcd10f7bd1aa9cf4d9ccf",
    ),
    "myeloidprogenitors": Published(
        "Myeloid progenitor cells",
        _OTHERS,
        "2e5e7138b7a3905651ed2440d72a6a287384ca04ef4035ade6162324f6b4754e",
        "7efb09bf9ab05adb77772e2f34dd2cd3f160174561008425b8c7a9bbadb46300",
    ),
    "olsson": Published(
        "Single-cell RNA sequencing (Olsson et al. 2016)",
        _OTHERS,
        "551db98e595a09bd0181f88ea9aafd042b46244dc022bf1f50939247d1f8c4df",
        "e6dada39f79327a257fad15a5fd9c6f4d7052924262dbebdf4970b6cabaee5dc",
    ),
    "paul": Published(
        "Myeloid progenitor development (Paul et al. 2015)",
        _OTHERS,
        "a72fc1a5d9d9eb03ba02ee75f2ab9aac598c64c060fafd9423e33e4dad8d6ed4",
        "45359b6c3e527ab6b211e97d4de14680f2016e9e1743a0ea22f1d92067c40ec0",
    ),
    "cifar": Published(
        "CIFAR-10 images (Krizhevsky 2009)",
        _OTHERS,
        "321629c1c8ad66c6c9f995b2b86c6b027e73663a9129375b741c0c26716afc0d",
        "9f9d19ec1492e649e875fb9f2c4da397f5039b3856f9fa8096d2a68dc8bd21de",
    ),
    "fashion-mnist": Published(
        "Fashion-MNIST images (Xiao et al. 2017)",
        _OTHERS,
        "08ba227df55d60b86846ea350281774451d1f7ec8f8bab61ebb879306410dc33",
        "b8fcc4faf3c6207353ffdb070b1e25a7c93dc778de75c460b2112db2bb9389a1",
    ),
}
