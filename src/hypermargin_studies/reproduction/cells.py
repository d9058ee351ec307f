"""The cells of the paper's experiments: which there are, their names, how one is run, and what is measured of it."""

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score, f1_score

from hypermargin import __version__
from hypermargin.arrays import Array
from hypermargin.estimators import HyperbolicSVC
from hypermargin.estimators.multiclass import make_scheme, problem_of_row
from hypermargin_studies import datasets as data
from hypermargin_studies.datasets import class_sizes, digest, fold, fold_seed, grid_parameters
from hypermargin_studies.engine import cells as engine
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE, Method, get_method
from hypermargin_studies.reproduction.paper import in_paper

#: Changes when what a cell records changes, so that old results are not taken for new ones.
RECORD_FORMAT = 2
#: The scheme of scikit-learn's classifiers, which handle many classes in their own way.
OWN_SCHEME = "own"


@dataclass(frozen=True)
class Cell(engine.Cell):
    """A data set, a scheme, a C, a method and some folds. `C` is None for methods that have none."""

    RESULT: ClassVar[str] = "folds"
    dataset: str
    scheme: str
    C: float | None
    method: str
    folds: tuple[int, ...]

    @classmethod
    def of(cls, dataset: str, scheme: str, C: float | None, method: Method, folds: tuple[int, ...]) -> "Cell":
        """The cell that answers for this scheme and C: methods without them share one."""
        if not method.is_margin:
            scheme = OWN_SCHEME
        elif len(class_sizes(dataset)) == 2:
            scheme = "ovo"  # both schemes are the one binary problem
        return cls(dataset, scheme, C if method.uses_C else None, method.name, folds)

    @property
    def group(self) -> tuple:
        """Cells that take about as long: other folds, or draws of the Gaussian grid that differ by their seed only.

        C is part of it: a small one can take five times as long as a large one.
        """
        drawn = grid_parameters(self.dataset)
        return self.dataset if drawn is None else drawn[:2], self.scheme, self.C, self.method

    def content(self) -> dict[str, Any]:
        seed, settings = fold_seed(self.dataset), get_method(self.method).settings(self.dataset)
        folds = self.folds if seed == 0 else (*self.folds, {"seed": seed})
        about = {"data": digest(self.dataset), "scheme": self.scheme, "C": self.C, "method": settings, "folds": folds}
        return about | {"version": __version__, "format": RECORD_FORMAT}

    def in_words(self) -> str:
        C = "" if self.C is None else f", C = {self.C:g}"
        folds = f"fold {self.folds[0] + 1}" if len(self.folds) == 1 else f"{len(self.folds)} folds"
        return f"{self.dataset}, {self.scheme}{C}, {self.method}, {folds}"

    def runs_on(self, device: str | None) -> bool:
        return device is not None and get_method(self.method).runs_on_devices

    def estimate(self) -> float:
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


def run_cell(cell: Cell | dict[str, Any], device: str | None = None) -> list[dict[str, Any]]:
    """Fit and measure every fold of a cell (or its plain form): one record of plain values per fold.

    Methods that can use an accelerator run on PyTorch's `device`, which is not part of the cell: it changes how long an
    answer takes, not which problem is solved.
    """
    cell = Cell(**{**cell, "folds": tuple(cell["folds"])}) if isinstance(cell, dict) else cell
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
    record: dict[str, Any] = {"fold": number, "seconds": clock() - start, "device": None}
    if device is not None:
        import torch

        is_cuda = torch.device(device).type == "cuda"
        record["device"] = torch.cuda.get_device_name(device) if is_cuda else device  # such as "NVIDIA H200"
    record |= accuracies(model, X_train, y_train, "train") | accuracies(model, X_test, y_test, "test")
    if method.is_margin:
        record |= margin_measures(model, (X_train, y_train), (X_test, y_test))
    return record


LOSSES = ("hinge", "asinh")


def accuracies(classifier: Any, X: Array, y: np.ndarray, part: str) -> dict[str, float]:
    """Accuracy and weighted F1 score on one part ("train" or "test") of the data."""
    predicted = classifier.predict(X)
    f1 = f1_score(y, predicted, average="weighted", zero_division=0.0)
    return {f"{part}_accuracy": float(accuracy_score(y, predicted)), f"{part}_f1": float(f1)}


def margin_measures(
    model: HyperbolicSVC, train: tuple[Array, np.ndarray], test: tuple[Array, np.ndarray]
) -> dict[str, Any]:
    """Objectives of both losses, bounds and the paper's eta, for every binary problem that `model` solved.

    Losses are summed over the binary problems; on the test part the objective is that of the test points.
    """
    solutions, problems = model.solutions_, model.binary_problems(*train)
    measures: dict[str, Any] = {}
    for loss in LOSSES:
        values = [s.objective_for(loss, p) for p, s in zip(problems, solutions, strict=True)]
        measures[f"train_{loss}"] = finite(float(np.sum(values)))
        measures[f"objective_{loss}"] = [finite(value) for value in values]
        measures[f"test_{loss}"] = finite(_test_objective(model, *test, loss))
    measures["lower_bound"] = [finite(s.bound_for("hinge")) for s in solutions]
    etas = [s.info["paper_eta"] for s in solutions if "paper_eta" in s.info]
    measures["eta"] = float(np.mean(etas)) if etas else None
    measures["w"] = [[*map(float, s.w), float(s.intercept)] for s in solutions]
    measures["statuses"] = dict(Counter(s.status.name for s in solutions))
    return measures


def _test_objective(model: HyperbolicSVC, X: Array, y: np.ndarray, loss: str) -> float:
    """The sum over binary problems of the objective with the test points in place of the training points."""
    labels, found = np.searchsorted(model.classes_, y), []
    for row, solution in zip(make_scheme(model.multi_class, model.classes_.size).code, model.solutions_, strict=True):
        if np.any(row[labels]):
            problem = problem_of_row(X, labels, row, float(model.C), model.allow_timelike)
            found.append(problem.objective(solution.w, loss, solution.intercept))
    return sum(found, 0.0)


def finite(value: float) -> float | None:
    """The number, or None where it is infinite: JSON has no infinity."""
    return float(value) if np.isfinite(value) else None


SCHEMES = ("ovr", "ovo")
SYNTHETIC_C = 10.0
REAL_C = (0.1, 1.0, 10.0)
GRID_METHODS = ("pgd-published", "pgd", "sdp-published", "sdp", "moment-lp", "moment-published", "moment", "exact")
ALL_FOLDS = tuple(range(data.N_FOLDS))
#: `--quick`: seconds that the folds of one method on one data set may take, the most for a single fold, and the largest
#: data set.
QUICK_GROUP, QUICK_FOLD, QUICK_POINTS = 1.5, 10.0, 5000


@dataclass(frozen=True)
class Selection:
    """What the user asked for. Empty means all."""

    datasets: Sequence[str] = ()
    methods: Sequence[str] = ()
    schemes: Sequence[str] = SCHEMES
    C: Sequence[float] = ()
    grid: bool = True
    quick: bool = False

    def __post_init__(self) -> None:
        known = (*data.SYNTHETIC, *data.REAL)
        for name in set(self.datasets) - {*known, data.GRID}:
            raise ValueError(f"unknown data set {name!r}; the data sets are {', '.join(known)}, and {data.GRID}")
        for name in self.methods:
            get_method(name)
        for scheme in set(self.schemes) - set(SCHEMES):
            raise ValueError(f"unknown scheme {scheme!r}; the schemes are {', '.join(SCHEMES)}")
        for C in self.C:
            if not 0.0 < C < float("inf"):
                raise ValueError(f"C must be positive and finite, got {C!r}")

    @property
    def chosen_methods(self) -> tuple[str, ...]:
        """The methods asked for, and the one that all gaps are measured against."""
        wanted = set(self.methods or METHODS)
        if any(METHODS[name].is_constrained for name in wanted):
            wanted.add(REFERENCE)
        return tuple(name for name in METHODS if name in wanted)


@dataclass
class Plan:
    """The cells to run (what the paper has first, and the shortest of it first), and those that are left out."""

    cells: list[Cell] = field(default_factory=list)
    left_out: list[Cell] = field(default_factory=list)


def make_plan(selection: Selection) -> Plan:
    """All cells of the tables and figures that the selection touches."""
    plan, seen = Plan(), set[Cell]()
    for group in [*table_groups(selection), *grid_groups(selection)]:
        fresh = [cell for cell in group if cell not in seen]
        kept = _quick(fresh) if selection.quick else fresh
        seen.update(fresh)
        plan.cells += kept
        plan.left_out += fresh[len(kept) :]
    plan.cells.sort(key=lambda cell: (cell.is_extra, cell.estimate()))
    return plan


def table_groups(selection: Selection) -> list[list[Cell]]:
    """Cells of the synthetic and the real tables, one group for each data set, scheme, C and method."""
    groups = []
    for name in selection.datasets or (*data.SYNTHETIC, *data.REAL):
        if name == data.GRID or (selection.quick and sum(class_sizes(name)) > QUICK_POINTS):
            continue
        usual = (SYNTHETIC_C,) if name in data.SYNTHETIC else (1.0,) if selection.quick else REAL_C
        groups += [
            [Cell.of(name, scheme, C, get_method(method), (fold,)) for fold in ALL_FOLDS]
            for C in selection.C or usual
            for scheme in selection.schemes
            for method in selection.chosen_methods
        ]
    return groups


def grid_groups(selection: Selection) -> list[list[Cell]]:
    """Cells of the Gaussian grid, one-vs-rest; all folds of a draw are one cell, because each is short."""
    wanted = selection.grid and (not selection.datasets or data.GRID in selection.datasets)
    if not wanted or "ovr" not in selection.schemes:
        return []
    seeds = data.GRID_SEEDS[:2] if selection.quick else data.GRID_SEEDS
    values_of_C = [C for C in data.GRID_C if C in (selection.C or data.GRID_C)]
    methods = [get_method(name) for name in selection.chosen_methods if name in GRID_METHODS]
    axes = product(data.GRID_CLASSES, data.GRID_SCALES, seeds, values_of_C, methods)
    return [[Cell.of(data.grid_name(K, s, seed), "ovr", C, method, ALL_FOLDS)] for K, s, seed, C, method in axes]


def _quick(group: list[Cell]) -> list[Cell]:
    """As many folds as fit into the time of a group; if none fits, one fold unless that alone takes too long."""
    method = get_method(group[0].method) if group else None
    if method is None or method.solver == "exact" or not method.is_margin:
        return group  # the judge and the baselines are quick, and are compared with on every fold
    each = group[0].estimate()
    if each / len(group[0].folds) > QUICK_FOLD or (len(group[0].folds) > 1 and each > 3.5 * QUICK_GROUP):
        return []
    return group[: max(1, int(QUICK_GROUP / each))]
