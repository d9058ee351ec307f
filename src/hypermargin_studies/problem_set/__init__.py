"""The public problem set: every binary problem of the thirteen embeddings for three values of C, with certified optima.

Names read ``paul/ovr/4/C=1`` (class 4 against the rest), ``paul/ovo/3-7/C=0.1`` (class 7 is +1, class 3 is -1) and
``karate/binary/C=10``. Each is on all points of its data set.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from itertools import combinations

from hypermargin.datasets import list_embeddings
from hypermargin.estimators.multiclass import make_scheme, problem_of_row
from hypermargin.problems import MarginProblem
from hypermargin_studies.datasets import class_sizes, digest, load

VALUES_OF_C = (0.1, 1.0, 10.0)
#: Data sets too large for a first look: `--all` takes them in.
LARGE = ("cifar", "fashion-mnist")
#: For each loss the file of its optima.
OPTIMA = {"hinge": "optima.json", "asinh": "optima_asinh.json"}


@dataclass(frozen=True)
class Optimum:
    """What is proved about one problem: no w has an objective below `lower`, and some w has the objective `upper`."""

    upper: float
    lower: float


def splits(dataset: str) -> list[str]:
    """The binary problems of a data set: "binary", or "ovr/k" for each class and "ovo/a-b" for each pair."""
    n_classes = len(class_sizes(dataset))
    if n_classes == 2:
        return ["binary"]
    return [f"ovr/{k}" for k in range(n_classes)] + [f"ovo/{a}-{b}" for a, b in combinations(range(n_classes), 2)]


def get_problem(name: str) -> MarginProblem:
    """The problem called `name`, or a `ValueError` that says how names read."""
    parts = name.split("/")
    try:
        dataset, scheme, C = parts[0], parts[1], float(parts[-1].removeprefix("C="))
        if dataset not in list_embeddings() or scheme not in ("binary", "ovr", "ovo"):
            raise ValueError
        X, y = load(dataset)
        code = make_scheme("ovo" if scheme == "binary" else scheme, len(class_sizes(dataset))).code
        own = [split for split in splits(dataset) if split.startswith(scheme)]
        row = code[own.index("/".join(parts[1:-1]))]
    except (ValueError, IndexError):
        example = "paul/ovr/4/C=1, paul/ovo/3-7/C=0.1 or karate/binary/C=10"
        raise ValueError(f"{name!r} names no problem; names read {example}") from None
    return problem_of_row(X, y, row, C)


@cache
def _stored(loss: str) -> dict:
    return json.loads(files("hypermargin_studies.problem_set").joinpath(OPTIMA[loss]).read_text(encoding="utf-8"))


@cache
def certified_optima(loss: str = "hinge") -> dict[str, Optimum]:
    """The stored optimum of every problem, by name."""
    return {name: Optimum(*bounds) for name, bounds in _stored(loss)["optima"].items()}


def check_data(dataset: str, loss: str = "hinge") -> None:
    """Refuse data that differ from those for which the optima were certified."""
    if digest(dataset) != _stored(loss)["data"].get(dataset):
        raise ValueError(f"the data of {dataset} is not that of the stored optima; fetch it again")


def select(pattern: str | None, everything: bool = False, loss: str = "hinge") -> list[str]:
    """Names that match a pattern such as ``paul/ovr/*``; without one all, the two large data sets only if asked for."""
    names = list(certified_optima(loss))
    if pattern is not None:
        return selected(names, pattern)
    return [name for name in names if everything or name.split("/")[0] not in LARGE]


def selected(names: Iterable[str], patterns: str) -> list[str]:
    """The names that match one of some patterns, separated by commas."""
    return [name for name in names if any(fnmatchcase(name, part) for part in patterns.split(","))]
