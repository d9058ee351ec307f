"""Fitted classifiers as one file that loads without running code: NumPy arrays and a JSON header in an .npz archive.

The header holds parameters, statuses and all that is small; arrays (coefficients, calibration, classes, certificates)
are members of the archive. Nothing is pickled, so a file from a stranger can do no more than be wrong.
"""

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

import numpy as np

from hypermargin.certificates import Certificate
from hypermargin.estimators.cross_validation import HyperbolicSVCCV
from hypermargin.estimators.multiclass import make_scheme
from hypermargin.estimators.svc import HyperbolicSVC
from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall
from hypermargin.solvers import Solution, Status

FORMAT = "hypermargin-model"
VERSION = 1
_ARRAYS = ("coef_", "intercept_", "gaps_", "n_iter_", "probA_", "probB_")
#: The uncertainty sets that a file may name.
_SETS: dict[str, type] = {kind.__name__: kind for kind in (Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall)}
#: What a damaged archive may raise while it is read.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, IndexError, TypeError, ValueError, AttributeError)


def save_model(estimator: HyperbolicSVC | HyperbolicSVCCV, path: str | os.PathLike) -> None:
    """Write a fitted `HyperbolicSVC` to `path`: parameters, classes, coefficients, calibration and solutions.

    Of a `HyperbolicSVCCV` the classifier with the C it chose is written, and read as a `HyperbolicSVC`.
    Kept of each solution are its numbers, its history, its certificate, and those entries of `info` that are numbers,
    strings, arrays, lists or dicts of them. Parameters must be plain values or uncertainty sets of this package: a
    model with a `RandomState` or a set of one's own is refused.
    """
    if isinstance(estimator, HyperbolicSVCCV):
        estimator = estimator.estimator_ if hasattr(estimator, "estimator_") else HyperbolicSVC()
    if not isinstance(estimator, HyperbolicSVC):
        raise TypeError(f"model files are for HyperbolicSVC and HyperbolicSVCCV, not for {type(estimator).__name__}")
    if not hasattr(estimator, "coef_"):
        raise ValueError("the classifier is not fitted yet: call fit before save_model")
    arrays: dict[str, np.ndarray] = {}
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if not _is_plain(value):
            raise ValueError(
                f"parameter {name} = {value!r} is neither a plain value nor an uncertainty set of hypermargin, and "
                "cannot be kept in a model file"
            )
    header = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": _pack(parameters, arrays),
        "classes": _pack(_plain_labels(estimator.classes_), arrays),
        "classes_are_objects": estimator.classes_.dtype == object,
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": [str(name) for name in getattr(estimator, "feature_names_in_", [])],
        "fitted": _pack({name: getattr(estimator, name) for name in _ARRAYS}, arrays),
        "solutions": [_pack(_solution_state(solution), arrays) for solution in estimator.solutions_],
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with open(path, "wb") as file:
        np.savez_compressed(file, **cast(dict[str, Any], arrays))


def load_model(path: str | os.PathLike) -> HyperbolicSVC:
    """Read a classifier that `save_model` wrote; a damaged or foreign file is a `ValueError`."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            known = header["format"] == FORMAT
            arrays = {key: archive[key] for key in archive.files}
    except _DAMAGE as error:
        raise ValueError(f"{name} is not a hypermargin model, or it is damaged") from error
    if not known:
        raise ValueError(f"{name} is not a hypermargin model")
    if header.get("version") != VERSION:
        raise ValueError(
            f"{name} is a model of format version {header.get('version')}; this hypermargin reads version {VERSION}: "
            "update hypermargin, or save the model again"
        )
    try:
        return _restore(header, arrays)
    except _DAMAGE as error:
        raise ValueError(f"{name} is a hypermargin model, but it is damaged") from error


def _restore(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> HyperbolicSVC:
    estimator = HyperbolicSVC(**_unpack(header["parameters"], arrays))
    classes = _unpack(header["classes"], arrays)
    estimator.classes_ = classes.astype(object) if header["classes_are_objects"] else classes
    estimator.n_features_in_ = header["n_features_in"]
    if header["feature_names_in"]:
        estimator.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
    n_problems = make_scheme(estimator.multi_class, classes.size).n_problems
    fitted = _unpack(header["fitted"], arrays)
    for name in _ARRAYS:
        if len(fitted[name]) != n_problems or len(header["solutions"]) != n_problems:
            raise ValueError(f"{name} and the solutions do not fit the number of classes")
        setattr(estimator, name, fitted[name])
    estimator.solutions_ = [_solution(_unpack(state, arrays)) for state in header["solutions"]]
    estimator.statuses_ = [solution.status for solution in estimator.solutions_]
    return estimator


# -- solutions ---------------------------------------------------------------------------------------------------------


def _solution_state(solution: Solution) -> dict[str, Any]:
    certificate = solution.certificate
    state = {name: getattr(solution, name) for name in Solution.__dataclass_fields__ if name != "certificate"}
    state["status"] = solution.status.name
    state["history"] = {key: np.asarray(values) for key, values in solution.history.items()}
    state["info"] = {key: value for key, value in solution.info.items() if _is_plain(value)}
    state["certificate"] = json.dumps(certificate.to_dict()) if isinstance(certificate, Certificate) else None
    return state


def _solution(state: dict[str, Any]) -> Solution:
    if state["certificate"] is not None:
        state["certificate"] = Certificate.from_dict(json.loads(state["certificate"]))
    return Solution(**{**state, "status": Status[state["status"]]})


# -- values ------------------------------------------------------------------------------------------------------------


def _is_plain(value: Any) -> bool:
    """Whether `_pack` keeps the value as it is."""
    if isinstance(value, Mapping):
        return all(_is_plain(key) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufUS"
    if type(value) in _SETS.values():
        return True
    return value is None or isinstance(value, bool | int | float | str | np.bool_ | np.integer | np.floating)


def _pack(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """JSON for a plain value; arrays go to `arrays`. A dict becomes a list of pairs, whose keys keep their type."""
    if isinstance(value, Mapping):
        return {"dict": [[_pack(key, arrays), _pack(item, arrays)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_pack(item, arrays) for item in value]}
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if type(value) in _SETS.values():
        content = {field.name: getattr(value, field.name) for field in fields(value)}
        return {"set": [type(value).__name__, _pack(content, arrays)]}
    return value.item() if isinstance(value, np.generic) else value


def _unpack(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `_pack`."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays[content]
    if kind == "dict":
        return {_unpack(key, arrays): _unpack(item, arrays) for key, item in content}
    if kind == "set":
        name, of_set = content
        return _SETS[name](**_unpack(of_set, arrays))
    items = [_unpack(item, arrays) for item in content]
    return tuple(items) if kind == "tuple" else items


def _plain_labels(classes: np.ndarray) -> np.ndarray:
    """Labels in a dtype that needs no pickle; objects must all be strings."""
    if classes.dtype != object:
        return classes
    if not all(isinstance(label, str) for label in classes):
        raise ValueError("labels of dtype object must all be strings to be kept in a model file")
    return classes.astype(str)
