"""Arguments that several commands share, the types of their values, and the points that they describe."""

import argparse
import ast
from typing import Any

from hypermargin.cli.console import CommandError, warn
from hypermargin.cli.reading import FORMATS, Points, Wanted, read_points
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.kernel_fitting import PARAMETERS
from hypermargin.geometry.validation import GEOMETRIES
from hypermargin.kernels import KERNELS
from hypermargin.problems import Ball, Box, CrossPolytope, GeodesicBall, UncertaintySet
from hypermargin.problems.losses import LOSSES

#: The value of -C that lets cross-validation choose it.
AUTO = "auto"
#: Uncertainty sets with one parameter.
SETS: dict[str, type[UncertaintySet]] = {"geodesic": GeodesicBall, "box": Box, "cross": CrossPolytope, "ball": Ball}


# -- arguments ---------------------------------------------------------------------------------------------------------


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """The file of points, and what its columns mean."""
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
    parser.add_argument("--id", metavar="COLUMN", help="the column of ids (default: recognised if there is one)")
    parser.add_argument(
        "--delimiter", type=_delimiter, metavar="SIGN", help="what separates the columns of a text file (detected)"
    )
    parser.add_argument("--obsm", metavar="NAME", help="the coordinates of a .h5ad file, such as X_poincare")


def add_geometry_arguments(parser: argparse._ActionsContainer) -> None:
    """What the coordinates in the file mean."""
    parser.add_argument("--geometry", choices=GEOMETRIES, default="lorentz", help="what the columns are (%(default)s)")
    parser.add_argument("--curvature", type=float, default=1.0, help="the space has curvature minus this (%(default)s)")


def add_problem_arguments(parser: argparse._ActionsContainer, *, may_choose: bool = False, C: Any = 1.0) -> None:
    """What is minimised, and how closely; with `may_choose`, cross-validation can choose C."""
    add_weight_arguments(parser, C=C, may_choose=may_choose)
    parser.add_argument(
        "--loss", choices=tuple(LOSSES), help="the loss to minimise, if the method can (default: the method's own)"
    )
    parser.add_argument("--tol", type=float, default=1e-6, help="relative gap to aim for (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (%(default)s)")


def add_weight_arguments(parser: argparse._ActionsContainer, C: Any, *, may_choose: bool = False) -> None:
    """C, the uncertainty set and the weights of classes; ``C=None`` means that a certificate states it."""
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


def add_solver_arguments(parser: argparse._ActionsContainer) -> None:
    """The method for geodesic boundaries, and its own options."""
    parser.add_argument("--solver", default="exact", help="the method; `hypermargin methods` lists them (%(default)s)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the method; may be repeated"
    )


def add_auto_arguments(parser: argparse._ActionsContainer) -> None:
    """How ``--model auto`` chooses among models."""
    parser.add_argument(
        "--scoring", metavar="NAME", help="with --model auto: the score that decides, by scikit-learn's name (accuracy)"
    )
    parser.add_argument(
        "--pos-label", metavar="LABEL", help="with --scoring: the positive class of two (the rarer one)"
    )
    parser.add_argument(
        "--candidates",
        metavar="A,B,...",
        help="with --model auto: families to choose from: geodesic, curve, neighbours, kernel, forest, blend (all)",
    )


def add_unlabelled_argument(parser: argparse.ArgumentParser) -> None:
    """Whether rows without a label are left out."""
    parser.add_argument("--skip-unlabelled", action="store_true", help="leave rows without a label out")


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


# -- points ------------------------------------------------------------------------------------------------------------


def points_of(args: argparse.Namespace, model: HyperbolicClassifier | None = None, *, labelled: bool = False) -> Points:
    """Read the points of the file that the arguments name, and check them.

    A model expects its own coordinates, and its own columns if it has their names. With `labelled`, rows without
    a label are an error, or left out if ``--skip-unlabelled`` was given.
    """
    points = read_points(args.data, Wanted.of(args, model))
    if model is not None:
        check_width(points, model)
    if labelled:
        points = _labelled(points, args)
    space = args if model is None else model
    points.check(space.geometry, space.curvature)
    return points


def _labelled(points: Points, args: argparse.Namespace) -> Points:
    if getattr(args, "skip_unlabelled", False) and points.y is not None:
        left_out = int(points.missing.sum())
        if left_out:
            points = points.labelled()
            warn(f"{args.data}: {left_out} rows have no label and are left out")
    points.labels  # noqa: B018 - raises if one is missing
    return points


def check_width(points: Points, model: HyperbolicClassifier) -> None:
    """Refuse points whose number of coordinates is not the model's."""
    width = points.X.shape[1]
    if width != model.n_features_in_:
        raise CommandError(
            f"{points.path} has {width} coordinates per point, the model was fitted to {model.n_features_in_}"
        )


def drop_names(model: Any) -> Any:
    """Let the model forget the names of its columns: it then takes arrays, whose columns were chosen by these names."""
    vars(model).pop("feature_names_in_", None)
    return model
