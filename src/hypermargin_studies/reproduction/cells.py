"""One cell of an experiment: a data set, a scheme, a C, a method and some folds; its name, and how it is run."""

import hashlib
import json
import time
import warnings
from dataclasses import asdict, dataclass
from typing import Any

from hypermargin import __version__
from hypermargin.datasets.by_name import class_sizes, digest, fold, fold_seed, grid_parameters
from hypermargin_studies.reproduction.methods import Method, get_method
from hypermargin_studies.reproduction.metrics import accuracies, margin_measures
from hypermargin_studies.reproduction.paper import in_paper
from hypermargin_studies.workers.environment import device_name

#: Changes when what a cell records changes, so that old results are not taken for new ones.
RECORD_FORMAT = 2
#: The scheme of scikit-learn's classifiers, which handle many classes in their own way.
OWN_SCHEME = "own"
Group = tuple[str | tuple[int, float], str, float | None, str]


@dataclass(frozen=True)
class Cell:
    """What is run as a whole, and kept as a whole. `C` is None for methods that have none."""

    dataset: str
    scheme: str
    C: float | None
    method: str
    folds: tuple[int, ...]

    @classmethod
    def of(cls, dataset: str, scheme: str, C: float, method: Method, folds: tuple[int, ...]) -> "Cell":
        """The cell that answers for this scheme and C: methods without them share one."""
        if not method.is_margin:
            scheme = OWN_SCHEME
        elif len(class_sizes(dataset)) == 2:
            scheme = "ovo"  # both schemes are the one binary problem
        return cls(dataset, scheme, C if method.uses_C else None, method.name, folds)

    @property
    def group(self) -> Group:
        """Cells that take about as long: other folds, or draws of the Gaussian grid that differ by their seed only.

        C is part of it: a small one can take five times as long as a large one.
        """
        drawn = grid_parameters(self.dataset)
        return self.dataset if drawn is None else drawn[:2], self.scheme, self.C, self.method

    def key(self) -> str:
        """A name made of everything the result depends on: data, settings, folds and version."""
        content = {
            "data": digest(self.dataset),
            "scheme": self.scheme,
            "C": self.C,
            "method": get_method(self.method).settings(self.dataset),
            "folds": self.folds if fold_seed(self.dataset) == 0 else (*self.folds, {"seed": fold_seed(self.dataset)}),
            "version": __version__,
            "format": RECORD_FORMAT,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    def runs_on(self, device: str | None) -> bool:
        """Whether its method can use this accelerator and is meant to."""
        return device is not None and get_method(self.method).runs_on_devices

    def estimate(self) -> float:
        """Seconds this cell may take."""
        sizes = [int(0.8 * n) for n in class_sizes(self.dataset)]
        if self.scheme == "ovr":
            problems = [sum(sizes)] * len(sizes)
        elif len(sizes) == 2 or self.scheme == OWN_SCHEME:
            problems = [sum(sizes)]
        else:
            problems = [a + b for k, a in enumerate(sizes) for b in sizes[k + 1 :]]
        return len(self.folds) * get_method(self.method).estimate(problems, self.dataset)

    @property
    def is_extra(self) -> bool:
        """Whether neither the paper's tables and grid nor the comparison with them need this cell: it is run last."""
        method = get_method(self.method)
        if not method.is_margin or method.solver == "exact":
            return False
        if grid_parameters(self.dataset):
            return method.name == "moment-published"  # long, and near its limit `moment-lp`
        return not in_paper(self.dataset, "ovr" if len(class_sizes(self.dataset)) == 2 else self.scheme)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Cell":
        return cls(**{**values, "folds": tuple(values["folds"])})


def run_cell(cell: Cell | dict[str, Any], device: str | None = None) -> list[dict[str, Any]]:
    """Fit and measure every fold of a cell (or its plain form): one record of plain values per fold.

    Methods that can use an accelerator run on PyTorch's `device`. It is not part of the cell: it changes how long an
    answer takes, not which problem is solved.
    """
    cell = Cell.from_dict(cell) if isinstance(cell, dict) else cell
    method = get_method(cell.method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how solves ended is recorded with them
        return [_run_fold(cell, method, number, device) for number in cell.folds]


def _run_fold(cell: Cell, method: Method, number: int, device: str | None) -> dict[str, Any]:
    X_train, y_train, X_test, y_test = fold(cell.dataset, number)
    device = device if method.runs_on_devices else None
    model: Any = method.build(cell.dataset, cell.C, cell.scheme, device)
    # Processor time of the worker's one thread does not count other work on the machine. A device has no such clock.
    clock = time.process_time if device is None else time.perf_counter
    start = clock()
    model.fit(X_train, y_train)
    record: dict[str, Any] = {"fold": number, "seconds": clock() - start, "device": device_name(device)}
    record |= accuracies(model, X_train, y_train, "train") | accuracies(model, X_test, y_test, "test")
    if method.is_margin:
        record |= margin_measures(model, (X_train, y_train), (X_test, y_test))
    return record
