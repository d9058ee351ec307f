"""Fitted classifiers as one file that loads without running code: NumPy arrays and a JSON header in an .npz archive.

The header names the class and holds its parameters and all that is small; arrays are members of the archive, and so is
the text of all certificates, which may be left out. Nothing is pickled, and only classes decorated with `storable` are
made, so a file from a stranger can do no more than be wrong.
"""

import json
import os
from contextlib import nullcontext
from io import IOBase
from typing import IO, Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.packing import Pieces, is_plain, pack, unpack
from hypermargin.safe_io import Archive, FileError, as_file_error, parse_json

FORMAT = "hypermargin-model"
VERSION = 3
#: The members that are no arrays but text.
HEADER, CERTIFICATES = "header", "certificates"
#: What of a model is packed: the rest is JSON as it is.
PACKED = ("parameters", "classes", "fitted")
_CLASSES: dict[str, type[HyperbolicClassifier]] = {}

Kind = TypeVar("Kind", bound=type[HyperbolicClassifier])


def storable(kind: Kind) -> Kind:
    """Class decorator: model files may hold this class, which says in `_stored` and `_restore` what it keeps."""
    _CLASSES[kind.__name__] = kind
    return kind


def save_model(
    estimator: HyperbolicClassifier, path: str | os.PathLike | IO[bytes], *, certificates: bool = True
) -> None:
    """Write a fitted classifier to `path` (or an open file): parameters, classes and what `fit` found.

    ``certificates=False`` leaves the proofs out, which are most of the file; the bounds they proved are kept.

    Of a `HyperbolicSVCCV` the classifier with the C it chose is written, and read as a `HyperbolicSVC`. Of each
    solution its numbers are kept, its history, its certificate, and those entries of `info` that are numbers, strings,
    arrays, lists or dicts of them. Parameters must be plain values or uncertainty sets of this package: a model with a
    `RandomState` or a set of one's own is refused.
    """
    if isinstance(estimator, HyperbolicClassifier):
        check_is_fitted(estimator)
        estimator = estimator._to_store()
    pieces = Pieces(keep_certificates=certificates)
    content = plain_model(estimator)
    header = {"format": FORMAT, "version": VERSION, **content}
    header |= {name: pack(content[name], pieces) for name in PACKED}
    texts = {HEADER: header, CERTIFICATES: pieces.certificates}
    members = pieces.members() | {
        name: np.frombuffer(json.dumps(text).encode(), dtype=np.uint8) for name, text in texts.items()
    }
    with nullcontext(path) if isinstance(path, IOBase) else open(cast(str, path), "wb") as file:
        np.savez_compressed(file, **cast(dict[str, Any], members))


def plain_model(estimator: HyperbolicClassifier) -> dict[str, Any]:
    """A fitted classifier as plain values (see `packing`): what a file holds of it, and of models within models."""
    kind = type(estimator)
    if _CLASSES.get(kind.__name__) is not kind:
        raise TypeError(f"model files are for {', '.join(_CLASSES)}, not for {kind.__name__}")
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if not is_plain(value):
            raise ValueError(
                f"parameter {name} = {value!r} is neither a plain value nor an uncertainty set of hypermargin, and "
                "cannot be kept in a model file"
            )
    return {
        "class": kind.__name__,
        "parameters": parameters,
        "classes": _plain_labels(estimator.classes_),
        "classes_are_objects": estimator.classes_.dtype == object,
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        "fitted": estimator._stored(),
    }


def load_model(path: str | os.PathLike | IO[bytes], *, certificates: bool = True) -> HyperbolicClassifier:
    """Read a classifier that `save_model` wrote, from a path or an open file.

    A damaged, crafted or foreign file is a `FileError` that says why. ``certificates=False`` leaves the proofs in the
    file, which is quicker: enough to predict.
    """
    name = str(getattr(path, "name", "the file")) if isinstance(path, IOBase) else os.fspath(cast(str, path))
    opened = nullcontext(path) if isinstance(path, IOBase) else open(cast(str, path), "rb")  # noqa: SIM115
    with opened as file:
        with as_file_error(name, "is not a hypermargin model, or it is damaged"):
            arrays = Archive(file)
            header = parse_json(_bytes(arrays[HEADER]))
            if header["format"] != FORMAT:
                raise FileError(f"{name} is not a hypermargin model")
        if header.get("version") not in (1, 2, VERSION):
            raise FileError(
                f"{name} is a model of format version {str(header.get('version'))[:20]}; this hypermargin reads "
                f"versions 1 to {VERSION}: update hypermargin, or save the model again"
            )
        kind = str(header.get("class", "HyperbolicSVC"))[:80]
        if kind not in _CLASSES:
            raise FileError(f"{name} holds a {kind}, which this hypermargin does not know: update hypermargin")
        with as_file_error(name, "is a hypermargin model, but it is damaged"):
            proofs = parse_json(_bytes(arrays[CERTIFICATES])) if _has_proofs(header, certificates) else None
            header = _of_version_1(header) if header["version"] == 1 else header
            pieces = Pieces.of(arrays, proofs)
            return model_from_plain({**header, **{name: unpack(header[name], pieces) for name in PACKED}})


def _bytes(array: np.ndarray) -> bytes:
    if array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("its header is no text")
    return array.tobytes()


def _has_proofs(header: dict[str, Any], wanted: bool) -> bool:
    """Whether certificates are to be read from a member of their own; older files have them in the header."""
    return wanted and header["version"] not in (1, 2)


def model_from_plain(content: dict[str, Any]) -> HyperbolicClassifier:
    """The inverse of `plain_model`; damage may raise any error."""
    estimator = _CLASSES[content["class"]](**content["parameters"])
    classes = content["classes"]
    if np.ndim(classes) != 1 or not (isinstance(content["n_features_in"], int) and content["n_features_in"] > 0):
        raise ValueError("its classes or the number of its features are none")
    estimator.classes_ = classes.astype(object) if content["classes_are_objects"] else classes
    estimator.n_features_in_ = content["n_features_in"]
    if content["feature_names_in"]:
        if len(content["feature_names_in"]) != estimator.n_features_in_:
            raise ValueError("it names more or fewer features than it has")
        estimator.feature_names_in_ = np.array(content["feature_names_in"], dtype=object)
    estimator._restore(content["fitted"])
    return estimator


def _of_version_1(header: dict[str, Any]) -> dict[str, Any]:
    """A header of the first version: one class, solutions beside the arrays, certificates as text within the JSON."""
    for solution in header["solutions"]:
        for pair in solution["dict"]:
            if pair[0] == "certificate" and pair[1] is not None:
                pair[1] = pack(parse_json(pair[1].encode()), Pieces())
    solutions = ["solutions", {"list": header["solutions"]}]
    return {**header, "class": "HyperbolicSVC", "fitted": {"dict": [*header["fitted"]["dict"], solutions]}}


def _plain_labels(classes: np.ndarray) -> np.ndarray:
    """Labels in a dtype that needs no pickle; objects must all be strings."""
    if classes.dtype != object:
        return classes
    if not all(isinstance(label, str) for label in classes):
        raise ValueError("labels of dtype object must all be strings to be kept in a model file")
    return classes.astype(str)
