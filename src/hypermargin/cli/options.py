"""Arguments that several commands share, and the classifier they describe."""

import argparse
import ast
import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from hypermargin.cli.console import CommandError, warn
from hypermargin.cli.reading import FORMATS, Points, read_points
from hypermargin.estimators import HyperbolicKernelSVC, HyperbolicSVC, HyperbolicSVCCV
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.kernel_choice import PARAMETERS
from hypermargin.geometry.validation import GEOMETRIES
from hypermargin.kernels import KERNELS
from hypermargin.problems import Ball, Box, CrossPolytope, GeodesicBall, UncertaintySet
from hypermargin.problems.losses import LOSSES
from hypermargin.solvers import available_methods, get_solver

#: Asks for C to be chosen.
AUTO = "auto"
#: Uncertainty sets that one number describes.
SETS: dict[str, type[UncertaintySet]] = {"geodesic": GeodesicBall, "box": Box, "cross": CrossPolytope, "ball": Ball}


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """The file of points, and what in it is what."""
    parser.add_argument("data", help=f"points: {FORMATS}; text may be compressed (.csv.gz)")
    parser.add_argument("--labels", metavar="FILE", help="labels in a file of their own: .npy, or one per line")
    parser.add_argument(
        "--label",
        metavar="COLUMN",
        help="the column of labels, by name or number (default: the one called label, or the last); obs:NAME in .h5ad",
    )
    parser.add_argument(
        "--columns", type=_names, metavar="A,B,...", help="the columns that are coordinates (default: all others)"
    )
    parser.add_argument("--id", metavar="COLUMN", help="the column of ids (default: recognised where there is one)")
    parser.add_argument("--delimiter", type=_delimiter, metavar="SIGN", help="what parts columns of text (found)")
    parser.add_argument("--obsm", metavar="NAME", help="the coordinates of a .h5ad file, such as X_poincare")


def add_geometry_arguments(parser: argparse._ActionsContainer) -> None:
    """What the coordinates in the file mean."""
    parser.add_argument("--geometry", choices=GEOMETRIES, default="lorentz", help="what the columns are (%(default)s)")
    parser.add_argument("--curvature", type=float, default=1.0, help="the space has curvature minus this (%(default)s)")


def add_problem_arguments(parser: argparse._ActionsContainer, *, may_choose: bool = False, C: Any = 1.0) -> None:
    """What is minimised, and how closely; `may_choose` where C can be left to cross-validation."""
    add_weight_arguments(parser, C=C, may_choose=may_choose)
    parser.add_argument(
        "--loss", choices=tuple(LOSSES), help="the loss to minimise, where the method can (default: the method's own)"
    )
    parser.add_argument("--tol", type=float, default=1e-6, help="relative gap to aim for (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything left to chance (%(default)s)")


def add_weight_arguments(parser: argparse._ActionsContainer, C: Any, *, may_choose: bool = False) -> None:
    """What is minimised; without a default for C it is known from elsewhere."""
    known = "%(default)s" if C is not None else "default: as stated"
    chosen = f", or {AUTO} to choose it by cross-validation" if may_choose else ""
    parser.add_argument(
        "-C",
        type=_weight_or_auto if may_choose else float,
        default=C,
        help=f"weight of the risk against the margin{chosen} ({known})",
    )
    parser.add_argument(
        "--uncertainty",
        type=_uncertainty_set,
        metavar="SET=SIZE",
        help=f"robust: margins are the worst over a set around each point, such as geodesic=0.1 ({', '.join(SETS)})",
    )
    parser.add_argument("--class-weight", choices=("balanced",), help="weigh classes by their rarity")


def add_multiclass_arguments(parser: argparse._ActionsContainer) -> None:
    """How more than two classes become binary problems."""
    parser.add_argument(
        "--multi-class",
        choices=("ovo", "ovr"),
        default="ovo",
        help="more than two classes: one-vs-one votes or one-vs-rest with Platt scaling (%(default)s)",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="binary problems solved at a time (default: 1)")


def add_unlabelled_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--skip-unlabelled", action="store_true", help="leave rows without a label out")


def points_of(args: argparse.Namespace, model: HyperbolicClassifier | None = None) -> Points:
    """The points of the file that the arguments name; those of a model must have its columns and coordinates."""
    points = _read(args, model)
    _check(points, args if model is None else model)
    return points


def labelled_points(args: argparse.Namespace, model: HyperbolicClassifier | None = None) -> Points:
    """The points of the file named in the arguments; a file without labels is an error."""
    points = _read(args, model)
    if getattr(args, "skip_unlabelled", False) and points.y is not None:
        left_out = int(points.missing.sum())
        if left_out:
            points = points.labelled()
            warn(f"{args.data}: {left_out} rows have no label and are left out")
    points.labels  # noqa: B018 - raises where one is missing
    _check(points, args if model is None else model)
    return points


def _read(args: argparse.Namespace, model: HyperbolicClassifier | None) -> Points:
    names = getattr(model, "feature_names_in_", None)
    points = read_points(
        args.data,
        args.labels,
        args.label,
        None if model is None else model.n_features_in_,
        columns=args.columns,
        id_column=args.id,
        names=None if names is None else tuple(names),
        delimiter=args.delimiter,
        obsm=args.obsm,
    )
    if model is not None:
        check_width(points, model)
    return points


def check_width(points: Points, model: HyperbolicClassifier) -> None:
    """Refuse points of another number of coordinates than the model's."""
    width = points.X.shape[1]
    if width != model.n_features_in_:
        raise CommandError(
            f"{points.path} has {width} coordinates per point, the model was fitted to {model.n_features_in_}"
        )


def _check(points: Points, space: argparse.Namespace | HyperbolicClassifier) -> None:
    points.check(space.geometry, space.curvature)


def without_names(model: HyperbolicClassifier) -> HyperbolicClassifier:
    """The model for arrays, whose columns were chosen by the names that it asked for."""
    unnamed = copy.copy(model)
    if hasattr(unnamed, "feature_names_in_"):
        del unnamed.feature_names_in_
    return unnamed


def make_classifier(args: argparse.Namespace, solver: str, **further: Any) -> HyperbolicSVC | HyperbolicKernelSVC:
    """The classifier that the arguments for geometry and problem describe; `further` are parameters of it.

    `solver` is a method for geodesic boundaries, "curve", or the name of a kernel. Where C is to be chosen the
    classifier is one that does so, with as many folds as `--folds` says.
    """
    problem: dict[str, Any] = dict(
        geometry=args.geometry,
        curvature=args.curvature,
        class_weight=args.class_weight,
        tol=args.tol,
        random_state=args.seed,
    )
    if solver in KERNELS:
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


def kernel_setting(text: str) -> dict[str, Any]:
    """``heat=0.5`` as ``{"kernel": "heat", "t": 0.5}``, and ``heat`` with the parameter that suits the data."""
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


def folds(count: int, seed: int) -> StratifiedKFold:
    """Folds in which every class has its share."""
    return StratifiedKFold(count, shuffle=True, random_state=seed)


def check_folds(points: Points, count: int) -> None:
    """Refuse folds that no class fills, and warn of classes that are smaller than the number of folds."""
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
    """A context without scikit-learn's remark on small classes, which `check_folds` has made better."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        yield


def _weight_or_auto(text: str) -> float | str:
    """A number, or the word that asks for a choice."""
    if text == AUTO:
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid float value: {text!r} (or say {AUTO})") from None


def _names(text: str) -> tuple[str, ...]:
    """``x,y`` as names."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
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


def solver_options(settings: list[str]) -> dict[str, Any]:
    """``["epochs=4000", "center=mean"]`` as a dict; values are Python literals where they can be read so."""
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


def methods_with_losses(text: str, loss: str | None) -> list[tuple[str, str, str | None]]:
    """``exact,exact:asinh`` as (label, method, loss); `loss` is for those that name none."""
    found = []
    for label in (part.strip() for part in text.split(",") if part.strip()):
        method, colon, own = label.partition(":")
        chosen_methods(method)
        found.append((label, method, own if colon else loss))
    if not found:
        raise CommandError("--methods names no method")
    return found


def chosen_methods(text: str | None) -> tuple[str, ...]:
    """The methods in a comma-separated list, or all there are; an unknown name is an error that lists them.

    Besides the methods for geodesic boundaries there are "curve" and the kernels.
    """
    if text is None:
        return (*available_methods(), "curve", *KERNELS)
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise CommandError("--methods names no method")
    for name in names:
        if name != "curve" and name not in KERNELS:
            if name not in available_methods():
                others = ", ".join((*available_methods(), "curve", *KERNELS))
                raise CommandError(f"unknown method {name!r}; the methods are {others}")
            get_solver(name)
    return names
