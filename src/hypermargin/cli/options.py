"""Arguments that several commands share, the types of their values, and the points, models and folds they describe."""

import argparse
import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from hypermargin.cli.console import CommandError, warn
from hypermargin.cli.reading import FORMATS, Points, Wanted, read_points
from hypermargin.data.ingest import RIMS
from hypermargin.data.inspecting import chosen_dialect
from hypermargin.estimators import (
    HyperbolicClassifierCV,
    HyperbolicForestClassifier,
    HyperbolicKernelSVC,
    HyperbolicKNeighborsClassifier,
    HyperbolicSVC,
    HyperbolicSVCCV,
)
from hypermargin.estimators.auto.families import CS
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.kernel_fitting import PARAMETERS
from hypermargin.geometry.validation import GEOMETRIES
from hypermargin.kernels import KERNELS
from hypermargin.problems import Ball, Box, CrossPolytope, GeodesicBall, UncertaintySet
from hypermargin.problems.losses import LOSSES
from hypermargin.solvers import available_methods, get_solver

#: The value of -C that lets cross-validation choose it.
AUTO = "auto"
#: Uncertainty sets with one parameter.
SETS: dict[str, type[UncertaintySet]] = {"geodesic": GeodesicBall, "box": Box, "cross": CrossPolytope, "ball": Ball}
#: What --model takes.
MODELS = ("geodesic", "curve", "kernel", "neighbours", "forest", "auto")
#: Those that are not found by optimisation, and have neither C nor proofs.
WITHOUT_C: dict[str, Any] = {"neighbours": HyperbolicKNeighborsClassifier, "forest": HyperbolicForestClassifier}
#: The models that each option is for, and the value of an option that was not given.
MODELS_OF: dict[str, tuple[tuple[str, ...], Any]] = {
    "kernel": (("kernel",), None),
    "landmarks": (("kernel",), None),
    "cache": (("kernel",), None),
    "solver": (("geodesic",), "exact"),
    "option": (("geodesic",), []),
    "refine": (("geodesic",), False),
    "fit_intercept": (("geodesic",), False),
    "allow_timelike": (("geodesic",), False),
    "uncertainty": (("geodesic", "curve", "kernel"), None),  # a kernel has its own sentence, in `make_classifier`
    "loss": (("geodesic", "curve", "kernel"), None),
    "certificates": (("geodesic", "curve", "kernel"), None),
    "multi_class": (("geodesic", "curve", "kernel"), "auto"),
    "class_weight": (("geodesic", "curve", "kernel", "forest", "auto"), None),
    "scoring": (("auto",), None),
    "pos_label": (("auto",), None),
    "candidates": (("auto",), None),
    "time_limit": (("auto",), None),
}


# -- values ------------------------------------------------------------------------------------------------------------


def kernel_setting(text: str) -> dict[str, Any]:
    """``heat=0.5`` as ``{"kernel": "heat", "t": 0.5}``; ``heat`` alone leaves the parameter to the data."""
    name, equals, value = text.partition("=")
    if name not in KERNELS:
        raise argparse.ArgumentTypeError(f"unknown kernel {name!r}; the kernels are {', '.join(KERNELS)}")
    if not equals:
        return {"kernel": name}
    if name not in PARAMETERS:
        raise argparse.ArgumentTypeError(f"the {name} kernel has no parameter")
    try:
        return {"kernel": name, PARAMETERS[name]: float(value)}
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} must read NAME or NAME=NUMBER, for example heat=0.5") from error


def solver_options(settings: list[str]) -> dict[str, Any]:
    """``["epochs=4000", "center=mean"]`` as a dict; values are read as Python literals if possible, else as text."""
    options: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (name.isidentifier() and equals):
            raise CommandError(f"--option {setting!r} must read NAME=VALUE, for example --option epochs=4000")
        try:
            options[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            options[name] = text
    return options


def split_list(text: str) -> tuple[str, ...]:
    """``"a, b"`` as ``("a", "b")``."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _weight_or_auto(text: str) -> float | str:
    if text == AUTO:
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid float value: {text!r} (or say {AUTO})") from None


def _names(text: str) -> tuple[str, ...]:
    names = split_list(text)
    if not names:
        raise argparse.ArgumentTypeError("it names no column")
    if len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"{text!r} names a column twice")
    return names


def _delimiter(text: str) -> str:
    sign = {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)
    if len(sign) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be one sign, or one of tab and space")
    return sign


def _uncertainty_set(text: str) -> UncertaintySet:
    """``geodesic=0.1`` as ``GeodesicBall(0.1)``."""
    name, _, size = text.partition("=")
    if name not in SETS:
        raise argparse.ArgumentTypeError(f"{text!r} must read SET=SIZE with one of {', '.join(SETS)}, as geodesic=0.1")
    try:
        return SETS[name](float(size))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"the size in {text!r} will not do: {error}") from error


def _row_count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of rows, such as 1000000")
    return int(text)


# -- arguments ---------------------------------------------------------------------------------------------------------

_WEIGHT = "weight of the risk against the margin"
#: What `add_argument` takes for each argument that several commands share, by group and name.
ARGUMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "data": {
        "data": dict(help=f"points: {FORMATS}; text may be compressed (.csv.gz)"),
        "--labels": dict(metavar="FILE", help="labels in a file of their own: .npy, or one per line"),
        "--label": dict(
            metavar="COLUMN",
            help="the column of labels, by name or number (default: the one called label, or the last); obs:NAME "
            "in .h5ad",
        ),
        "--columns": dict(
            type=_names, metavar="A,B,...", help="the columns that are coordinates (default: all others)"
        ),
        "--id": dict(metavar="COLUMN", help="the column of ids (default: recognised if there is one)"),
        "--delimiter": dict(
            type=_delimiter, metavar="SIGN", help="what separates the columns of a text file (detected)"
        ),
        "--obsm": dict(metavar="NAME", help="the coordinates of a .h5ad file, such as X_poincare"),
    },
    "edges": {
        "--edges": dict(metavar="GRAPH", help="draw the edges of a graph, whose nodes are called by the points' ids")
    },
    "unlabelled": {"--skip-unlabelled": dict(action="store_true", help="leave rows without a label out")},
    "chunks": {
        "--chunks": dict(
            type=_row_count,
            metavar="ROWS",
            help="read a .npy, .csv or .parquet so many rows at a time (default: whole, if the memory is large enough)",
        )
    },
    "geometry": {
        "--geometry": dict(
            choices=(*GEOMETRIES, "auto"), default="lorentz", help="what the columns are (%(default)s); auto finds out"
        ),
        "--curvature": dict(type=float, default=1.0, help="the space has curvature minus this (%(default)s)"),
        "--rim": dict(
            choices=RIMS,
            default="clip",
            help="points beyond the largest radius that double precision serves: draw them in, leave them out of the "
            "fit, or refuse them (%(default)s)",
        ),
    },
    "C": {"-C": dict(type=float, default=1.0, help=_WEIGHT + " (%(default)s)")},
    "C or auto": {
        "-C": dict(
            type=_weight_or_auto,
            default=1.0,
            help=f"{_WEIGHT}, or {AUTO} to choose it by cross-validation (%(default)s)",
        )
    },
    "C as stated": {"-C": dict(type=float, help=_WEIGHT + " (default: as stated)")},
    "weights": {
        "--uncertainty": dict(
            type=_uncertainty_set,
            metavar="SET=SIZE",
            help="robust: margins are the worst over a set around each point, such as geodesic=0.1 "
            f"({', '.join(SETS)})",
        ),
        "--class-weight": dict(choices=("balanced",), help="weigh classes by their rarity"),
    },
    "search": {
        "--loss": dict(
            choices=tuple(LOSSES), help="the loss to minimise, if the method can (default: the method's own)"
        ),
        "--tol": dict(type=float, default=1e-6, help="relative gap to aim for (%(default)s)"),
        "--seed": dict(type=int, default=0, help="seed of the random numbers (%(default)s)"),
    },
    "classes": {
        "--multi-class": dict(
            choices=("auto", "ovo", "ovr"),
            default="auto",
            help="one-vs-one votes (up to 20 classes by default) or one-vs-rest",
        ),
        "--jobs": dict(type=int, metavar="N", help="binary problems solved at a time (default: 1)"),
    },
    "solver": {
        "--solver": dict(default="exact", help="the method; `hypermargin methods` lists them (%(default)s)"),
        "--option": dict(
            action="append", default=[], metavar="NAME=VALUE", help="an option of the method; may be repeated"
        ),
    },
    "kernel": {
        "--kernel": dict(
            type=kernel_setting,
            metavar="NAME[=VALUE]",
            help="with --model kernel: heat, cosh, laplacian or distance, with a parameter or that of the data (auto)",
        ),
        "--landmarks": dict(type=int, metavar="N", help="with --model kernel: approximate it by N points"),
        "--cache": dict(type=float, metavar="MB", help="with --model kernel: memory for it (2000)"),
    },
    "model": {
        "--model": dict(
            choices=MODELS,
            default="geodesic",
            help="a hyperplane, a generalised hyperplane, any shape by a kernel, the vote of the nearest points, trees "
            "of hyperplanes, or what does best in cross-validation (%(default)s)",
        )
    },
    "auto": {
        "--scoring": dict(
            metavar="NAME", help="with --model auto: the score that decides, by scikit-learn's name (accuracy)"
        ),
        "--pos-label": dict(metavar="LABEL", help="with --scoring: the positive class of two (the rarer one)"),
        "--time-limit": dict(type=float, metavar="SECONDS", help="with --model auto: end with the best so far"),
        "--candidates": dict(
            metavar="A,B,...",
            help="with --model auto: families to choose from: geodesic, curve, neighbours, kernel, forest, blend (all)",
        ),
    },
}


def add_shared_arguments(parser: argparse._ActionsContainer, *groups: str) -> None:
    """Add the arguments of these groups of `ARGUMENTS`."""
    for group in groups:
        for name, settings in ARGUMENTS[group].items():
            parser.add_argument(name, **settings)


# -- points ------------------------------------------------------------------------------------------------------------


def points_of(args: argparse.Namespace, model: HyperbolicClassifier | None = None, *, labelled: bool = False) -> Points:
    """Read the points of the file that the arguments name, and check them.

    A model expects its own coordinates, and its own columns if it has their names. Rows without a label are left out if
    ``--skip-unlabelled`` was given, and otherwise an error with `labelled`.
    """
    points = read_points(args.data, Wanted.of(args, model))
    if getattr(args, "skip_unlabelled", False) and points.y is not None and points.missing.any():
        warn(f"{args.data}: {points.missing.sum()} rows have no label and are left out")
        points = points.labelled()
    if labelled:
        points.labels  # noqa: B018 - raises if one is missing
    return checked(points, args, model)


def checked(points: Points, args: argparse.Namespace, model: HyperbolicClassifier | None = None) -> Points:
    """The points, which must have the width of the model, and lie in its space or in that of the arguments."""
    if model is not None and points.X.shape[1] != model.n_features_in_:
        raise CommandError(
            f"{points.path} has {points.X.shape[1]} coordinates per point, the model was fitted to "
            f"{model.n_features_in_}"
        )
    space = args if model is None else model
    if space.geometry == "auto":
        space.geometry, space.curvature = chosen_dialect(points.X)[:2]
    points.check(space.geometry, space.curvature)
    return points


def drop_names(model: Any) -> Any:
    """Let the model forget the names of its columns: it then takes arrays, whose columns were chosen by these names."""
    vars(model).pop("feature_names_in_", None)
    return model


# -- models ------------------------------------------------------------------------------------------------------------


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that the model of ``--model`` does not take."""
    given = vars(args)
    for name, (models, default) in MODELS_OF.items():
        if args.model in models or given.get(name, default) == default:
            continue
        option = f"--{name.replace('_', '-')}"
        if args.model == "auto":
            raise CommandError(f"{option} is not for --model auto, which chooses among models of their own settings")
        raise CommandError(f"{option} is for --model {models[0]}")
    if args.model == "auto" or args.model in WITHOUT_C:
        if args.C not in (AUTO, 1.0):
            why = "chooses it too" if args.model == "auto" else "has none"
            raise CommandError(f"-C is not for --model {args.model}, which {why}")
        if args.tol != 1e-6:
            raise CommandError(f"--tol is not for --model {args.model}")


def classifier_of(args: argparse.Namespace, **further: Any) -> HyperbolicClassifier:
    """The classifier of ``--model`` and its options; `further` are parameters of it."""
    further |= {"multi_class": args.multi_class, "n_jobs": args.jobs}
    if args.model == "geodesic":
        flags = ("fit_intercept", "allow_timelike", "refine")  # of `fit` alone
        further |= {name: getattr(args, name) for name in flags if hasattr(args, name)}
        return make_classifier(args, args.solver, solver_options=solver_options(args.option) or None, **further)
    if args.model != "kernel":
        return make_classifier(args, args.model, **further)
    setting = dict(args.kernel or {"kernel": "auto"})
    if args.cache is not None:
        further["cache_size"] = args.cache
    return make_classifier(args, setting.pop("kernel"), n_landmarks=args.landmarks, **setting, **further)


def make_classifier(args: argparse.Namespace, solver: str, **further: Any) -> Any:
    """The classifier that the arguments for geometry and problem describe; `further` are parameters of it.

    `solver` is a method for geodesic boundaries, "curve", the name of a kernel, "neighbours" or "forest". With ``-C
    auto`` it is a classifier that chooses C in ``--folds`` folds.
    """
    if solver in WITHOUT_C:
        model, described = WITHOUT_C[solver](), _space_of(args) | further
        return model.set_params(**{name: value for name, value in described.items() if name in model.get_params()})
    problem = _space_of(args) | {"tol": args.tol}
    if solver in (*KERNELS, "auto"):
        if args.uncertainty is not None:
            raise CommandError("--uncertainty is for geodesic boundaries; a kernel has no robust form here")
        if args.C == AUTO:
            raise CommandError(f"-C {AUTO} is for geodesic boundaries and curves; give a kernel its C")
        return HyperbolicKernelSVC(kernel=solver, C=args.C, **problem, **further)
    boundary: dict[str, Any] = {"boundary": "curve"} if solver == "curve" else {"solver": solver}
    described = {"uncertainty": args.uncertainty, "loss": args.loss, **boundary, **problem, **further}
    if args.C == AUTO:
        return HyperbolicSVCCV(cv=folds(args.folds, args.seed), **described)
    return HyperbolicSVC(C=args.C, **described)


def _space_of(args: argparse.Namespace) -> dict[str, Any]:
    """Parameters of every classifier."""
    return {
        "geometry": args.geometry,
        "curvature": args.curvature,
        "class_weight": args.class_weight,
        "random_state": args.seed,
        "rim": args.rim,
    }


def make_chooser(args: argparse.Namespace, points: Points, cv: Any, *, verbose: bool) -> HyperbolicClassifierCV:
    """The classifier that chooses among models in the folds `cv`; with ``--model kernel`` among kernels and their C."""
    names = {str(label): label for label in np.unique(points.labels).tolist()}
    candidates: Any = None if args.candidates is None else [name.strip() for name in args.candidates.split(",")]
    if args.model == "kernel":
        candidates = {"kernel": None if args.kernel is None else [{**args.kernel, "C": C} for C in CS]}
    return HyperbolicClassifierCV(
        candidates=candidates,
        scoring=args.scoring,
        cv=cv,
        n_jobs=args.jobs,
        verbose=int(verbose),
        pos_label=names.get(args.pos_label, args.pos_label),
        time_limit=args.time_limit,
        **_space_of(args),
    )


def chosen_parameters(parameters: dict[str, Any]) -> str:
    """The parameters that ``--model auto`` chose, in words; of a blend the families in it."""
    if "members" in parameters:
        return " + ".join(member["family"] for member in parameters["members"])
    shown = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in parameters.items()}
    return " ".join(f"{name}={value}" for name, value in shown.items())


def chosen_methods(text: str | None) -> tuple[str, ...]:
    """The methods in a comma-separated list, or all; an unknown name is an error that lists them.

    Besides the methods for geodesic boundaries there are "curve", the kernels, "neighbours" and "forest".
    """
    known = (*available_methods(), "curve", *KERNELS, *WITHOUT_C)
    if text is None:
        return known
    names = split_list(text)
    if not names:
        raise CommandError("--methods names no method")
    for name in names:
        if name not in known:
            raise CommandError(f"unknown method {name!r}; the methods are {', '.join(known)}")
        if name in available_methods():
            get_solver(name)  # an error if a library that it needs is missing
    return names


# -- folds -------------------------------------------------------------------------------------------------------------


def folds(count: int, seed: int) -> StratifiedKFold:
    """Stratified folds in random order."""
    return StratifiedKFold(count, shuffle=True, random_state=seed)


def check_folds(points: Points, count: int) -> None:
    """Refuse more folds than the largest class has samples, and warn of classes smaller than the number of folds."""
    if count < 2:
        raise CommandError(f"--folds must be at least 2, got {count}")
    classes, sizes = np.unique(points.labels, return_counts=True)
    if sizes.max() < count:
        raise CommandError(
            f"the largest class has {sizes.max()} samples, fewer than the {count} folds: "
            f"say --folds {max(2, sizes.max())}"
        )
    small = [f"{name} ({size})" for name, size in zip(classes, sizes, strict=True) if size < count]
    if small:
        warn(
            f"{len(small)} of {len(classes)} classes have fewer samples than the {count} folds, so that some folds "
            f"test none of them: {', '.join(small[:8])}{', ...' if len(small) > 8 else ''}"
        )


@contextmanager
def quiet_folds() -> Iterator[None]:
    """A context without scikit-learn's warning about small classes, which `check_folds` has given already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        yield
