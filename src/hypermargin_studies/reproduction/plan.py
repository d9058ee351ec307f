"""What a run consists of: the cells of every table and figure, what `--quick` keeps of them, and how long they take."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypermargin.datasets import by_name as data
from hypermargin_studies.reproduction.cells import Cell
from hypermargin_studies.reproduction.methods import METHODS, REFERENCE, get_method

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
        for name in self.datasets:
            if name not in (*data.SYNTHETIC, *data.REAL, data.GRID):
                known = ", ".join((*data.SYNTHETIC, *data.REAL))
                raise ValueError(f"unknown data set {name!r}; the data sets are {known}, and {data.GRID}")
        for name in self.methods:
            get_method(name)
        for scheme in self.schemes:
            if scheme not in SCHEMES:
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

    def seconds(self, cells: Sequence[Cell] | None = None) -> float:
        """Seconds of work on one core of a present-day machine, by the rough costs of `methods`."""
        return sum(cell.estimate() for cell in (self.cells if cells is None else cells))


def make_plan(selection: Selection) -> Plan:
    """All cells of the tables and figures that the selection touches."""
    plan = Plan()
    seen: set[Cell] = set()
    for group in [*table_groups(selection), *grid_groups(selection)]:
        fresh = [cell for cell in group if cell not in seen]
        seen.update(fresh)
        if selection.quick:
            kept = _quick(fresh)
            plan.left_out += fresh[len(kept) :]
            fresh = kept
        plan.cells += fresh
    plan.cells.sort(key=lambda cell: (cell.is_extra, cell.estimate()))
    return plan


def table_groups(selection: Selection) -> list[list[Cell]]:
    """Cells of the synthetic and the real tables, one group for each data set, scheme, C and method."""
    groups = []
    for name in selection.datasets or (*data.SYNTHETIC, *data.REAL):
        if name == data.GRID:
            continue
        if selection.quick and sum(data.class_sizes(name)) > QUICK_POINTS:
            continue
        synthetic = name in data.SYNTHETIC
        for C in selection.C or _default_C(synthetic, selection.quick):
            for scheme in selection.schemes:
                for method in map(get_method, selection.chosen_methods):
                    groups.append([Cell.of(name, scheme, C, method, (fold,)) for fold in ALL_FOLDS])
    return groups


def _default_C(synthetic: bool, quick: bool) -> tuple[float, ...]:
    if synthetic:
        return (SYNTHETIC_C,)
    return (1.0,) if quick else REAL_C


def grid_groups(selection: Selection) -> list[list[Cell]]:
    """Cells of the Gaussian grid, one-vs-rest; all folds of a draw are one cell, because each is short."""
    wanted = selection.grid and (not selection.datasets or data.GRID in selection.datasets)
    if not wanted or "ovr" not in selection.schemes:
        return []
    groups = []
    methods = [get_method(name) for name in selection.chosen_methods if name in GRID_METHODS]
    for n_classes in data.GRID_CLASSES:
        for scale in data.GRID_SCALES:
            for seed in data.GRID_SEEDS[:2] if selection.quick else data.GRID_SEEDS:
                for C in [C for C in data.GRID_C if C in (selection.C or data.GRID_C)]:
                    for method in methods:
                        name = data.grid_name(n_classes, scale, seed)
                        groups.append([Cell.of(name, "ovr", C, method, ALL_FOLDS)])
    return groups


def _quick(group: list[Cell]) -> list[Cell]:
    """As many folds as fit into the time of a group; if none fits, one fold unless that alone takes too long."""
    if not group:
        return []
    method = get_method(group[0].method)
    if method.solver == "exact" or not method.is_margin:
        return group  # the judge and the baselines are quick, and are compared with on every fold
    each = group[0].estimate()
    if each / len(group[0].folds) > QUICK_FOLD or (len(group[0].folds) > 1 and each > 3.5 * QUICK_GROUP):
        return []
    return group[: max(1, int(QUICK_GROUP / each))]
