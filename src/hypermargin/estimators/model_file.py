"""Fitted classifiers as one file that loads without running code: NumPy arrays and a JSON header in an .npz archive.

The header names the class and holds its parameters and all that is small; arrays are members of the archive, and so is
the text of all certificates, which may be left out. Nothing is pickled, and only classes decorated with `storable` are
made, so a file from a stranger can do no more than be wrong.
"""

import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import fields
from io import IOBase
from math import prod
from typing import IO, Any, Protocol, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hypermargin.certificates import Certificate
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from hypermargin.safe_io import Archive, Damage, FileError, as_file_error, parse_json

FORMAT = "hypermargin-model"
VERSION = 4
#: The members that are no arrays but text.
HEADER, CERTIFICATES = "header", "certificates"
#: What of a model is packed: the rest is JSON as it is.
PACKED = ("parameters", "classes", "fitted")
_CLASSES: dict[str, type[HyperbolicClassifier]] = {}

#: The uncertainty sets that a file may name.
_SETS: dict[str, type] = {kind.__name__: kind for kind in (Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall)}
#: What the members of an archive are called that hold all arrays of a dtype.
PREFIX = "values_"

Kind = TypeVar("Kind", bound=type[HyperbolicClassifier])


def storable(kind: Kind) -> Kind:
    """Class decorator: model files may hold this class, which says in `_stored` and `_restore` what it keeps."""
    _CLASSES[kind.__name__] = kind
    kind.save = save_model  # as a method: `model.save(path)`
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
    """A fitted classifier as plain values (see `pack`): what a file holds of it, and of models within models."""
    kind = type(estimator)
    if _CLASSES.get(kind.__name__) is not kind:
        raise TypeError(f"model files are for {', '.join(_CLASSES)}, not for {kind.__name__}")
    parameters = estimator.get_params(deep=False) | {"curvature": float(estimator.curvature)}
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
        if header.get("version") not in (1, 2, 3, VERSION):
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
    kind = _CLASSES[content["class"]]
    earlier = {"calibration": "platt"} if "calibration" in kind._get_param_names() else {}  # before it was a parameter
    estimator = kind(**{**earlier, **content["parameters"]})
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


# -- plain values as JSON beside a few arrays, and back ----------------------------------------------------------------

# Plain are None, numbers, strings, arrays of them, lists, tuples and dicts of plain values, certificates, and the
# uncertainty sets of this package. All arrays of a dtype lie one behind the other in one member of the archive: a model
# of a hundred classes has some ten thousand small arrays, and as many members take seconds to write and to read.


class SupportsGetItem(Protocol):
    """Arrays by name: a dict, or an archive that unpacks them when they are asked for."""

    def __getitem__(self, name: str, /) -> np.ndarray: ...


class Pieces:
    """Arrays in one piece for each dtype, and certificates as plain dicts: what `pack` fills and `unpack` asks.

    With ``keep_certificates=False`` those are left out.
    """

    def __init__(self, keep_certificates: bool = True) -> None:
        self.certificates: list[dict[str, Any]] = []
        self._keep_certificates = keep_certificates
        self._arrays: dict[str, list[np.ndarray]] = {}
        self._sizes: dict[str, int] = {}
        self._seen: set[str] = set()
        self._read: SupportsGetItem = {}

    @classmethod
    def of(cls, members: "SupportsGetItem", certificates: list[dict[str, Any]] | None) -> "Pieces":
        """Those of an archive; None for certificates that are not to be read."""
        pieces = cls(certificates is not None)
        pieces._read, pieces.certificates = members, certificates or []
        return pieces

    def members(self) -> dict[str, np.ndarray]:
        """The pieces by the names they have in an archive."""
        return {PREFIX + name: np.concatenate(arrays) for name, arrays in self._arrays.items()}

    def put(self, array: np.ndarray) -> list[Any]:
        """Append an array; returns the place to ask for."""
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        name = array.dtype.str[1:]
        start = self._sizes.get(name, 0)
        self._arrays.setdefault(name, []).append(array.ravel())
        self._sizes[name] = start + array.size
        return [name, start, list(array.shape)]

    def get(self, place: Any) -> np.ndarray:
        """The array at a place, as a copy of its own; older files have a member for each array, and its name."""
        if isinstance(place, str):
            self._once(f"array {place}")
            return self._read[place]
        name, start, shape = place
        values, count = self._read[PREFIX + name], prod(shape)
        if min(shape, default=0) < 0 or start < 0 or count > values.size - self._sizes.get(name, 0):
            raise Damage("its arrays take up more than is stored")  # each stored value belongs to one array
        self._sizes[name] = self._sizes.get(name, 0) + count
        return values[start : start + count].reshape(shape).copy()

    def put_certificate(self, certificate: Certificate) -> int | None:
        if not self._keep_certificates:
            return None
        self.certificates.append(certificate.to_dict())
        return len(self.certificates) - 1

    def get_certificate(self, number: int | None) -> Certificate | None:
        if number is None or not self._keep_certificates:
            return None
        self._once(f"certificate {number}")
        return Certificate.from_dict(self.certificates[number])

    def _once(self, name: str) -> None:
        """Raise `Damage` at the second use of a name: a short header could fill all memory with copies."""
        if name in self._seen:
            raise Damage(f"{name} is used twice")
        self._seen.add(name)


def is_plain(value: Any) -> bool:
    """Whether `pack` keeps the value as it is."""
    if isinstance(value, Mapping):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(is_plain(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufUS"
    if type(value) in _SETS.values() or isinstance(value, Certificate):
        return True
    return value is None or isinstance(value, bool | int | float | str | np.bool_ | np.integer | np.floating)


def pack(value: Any, pieces: Pieces) -> Any:
    """JSON for a plain value; arrays and certificates go to `pieces`.

    A dict becomes a list of pairs, whose keys keep their type; a list of dicts with the same keys becomes columns, and
    a list of arrays one array and their shapes.
    """
    if isinstance(value, Mapping):
        return {"dict": [[pack(key, pieces), pack(item, pieces)] for key, item in value.items()]}
    if isinstance(value, list) and len(value) > 1 and _is_table(value):
        return {"table": [[pack(key, pieces), pack([row[key] for row in value], pieces)] for key in value[0]]}
    if isinstance(value, list) and len(value) > 1 and _is_bundle(value):
        together = pieces.put(np.concatenate([array.ravel() for array in value]))
        return {"arrays": [together, [list(array.shape) for array in value]]}
    if isinstance(value, list | tuple):
        items = [pack(item, pieces) for item in value]
        bare = isinstance(value, list) and not any(isinstance(item, dict) for item in items)
        return items if bare else {type(value).__name__: items}
    if isinstance(value, np.ndarray):
        return {"array": pieces.put(value)}
    if isinstance(value, Certificate):
        return {"certificate": pieces.put_certificate(value)}
    if type(value) in _SETS.values():
        content = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"set": [type(value).__name__, pack(content, pieces)]}
    return value.item() if isinstance(value, np.generic) else value


def unpack(value: Any, pieces: Pieces) -> Any:
    """The inverse of `pack`."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return pieces.get(content)
    if kind == "dict":
        return {unpack(key, pieces): unpack(item, pieces) for key, item in content}
    if kind == "table":
        keys = [unpack(key, pieces) for key, _ in content]
        columns = [unpack(column, pieces) for _, column in content]
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    if kind == "arrays":
        together, shapes = content
        ends = np.cumsum([prod(shape) for shape in shapes])[:-1]
        parts = np.split(pieces.get(together), ends)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    if kind == "certificate":
        return pieces.get_certificate(content)
    if kind == "set":
        name, of_set = content
        return _SETS[name](**unpack(of_set, pieces))
    items = [unpack(item, pieces) for item in content]
    return tuple(items) if kind == "tuple" else items


def _is_table(rows: list[Any]) -> bool:
    """Whether all items are dicts with the same keys, of which there is at least one."""
    first = rows[0]
    return isinstance(first, dict) and bool(first) and all(isinstance(row, dict) and [*row] == [*first] for row in rows)


def _is_bundle(items: list[Any]) -> bool:
    """Whether all items are arrays of one dtype."""
    first = items[0]
    return isinstance(first, np.ndarray) and all(isinstance(a, np.ndarray) and a.dtype == first.dtype for a in items)
