"""Arguments that several commands share, and the classifier they describe."""

import argparse
import ast
from pathlib import Path
from typing import Any

from hypermargin.cli.console import CommandError
from hypermargin.cli.files import PARQUET, Points, chunked_points, read_points
from hypermargin.estimators import HyperbolicSVC
from hypermargin.geometry.validation import GEOMETRIES
from hypermargin.problems import Ball, Box, CrossPolytope, GeodesicBall, UncertaintySet
from hypermargin.solvers import available_methods, get_solver

#: Uncertainty sets that one number describes.
SETS: dict[str, type[UncertaintySet]] = {"geodesic": GeodesicBall, "box": Box, "cross": CrossPolytope, "ball": Ball}


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """The file of points and where its labels are."""
    parser.add_argument("data", help="points: .npz (arrays X and y), .npy (with --labels), .csv or .parquet")
    parser.add_argument("--labels", metavar="FILE", help="labels in a file of their own: .npy, or one per line")
    parser.add_argument(
        "--label", metavar="COLUMN", help="column of the table that holds the labels (default: the last)"
    )


def add_chunk_argument(parser: argparse.ArgumentParser) -> None:
    """For files that are larger than memory."""
    parser.add_argument(
        "--chunks",
        type=_row_count,
        metavar="ROWS",
        help="read a .npy, .csv or .parquet in chunks of so many rows instead of into memory (.parquet: always)",
    )


def add_geometry_arguments(parser: argparse._ActionsContainer) -> None:
    """What the coordinates in the file mean."""
    parser.add_argument("--geometry", choices=GEOMETRIES, default="lorentz", help="what the columns are (%(default)s)")
    parser.add_argument("--curvature", type=float, default=1.0, help="the space has curvature minus this (%(default)s)")


def add_problem_arguments(parser: argparse._ActionsContainer) -> None:
    """What is minimised, and how closely."""
    add_weight_arguments(parser, C=1.0)
    parser.add_argument("--tol", type=float, default=1e-6, help="relative gap to aim for (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything left to chance (%(default)s)")


def add_weight_arguments(parser: argparse._ActionsContainer, C: float | None) -> None:
    """What is minimised; without a default for C it is known from elsewhere."""
    known = "%(default)s" if C is not None else "default: as stated"
    parser.add_argument("-C", type=float, default=C, help=f"weight of the risk against the margin ({known})")
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


def labelled_points(args: argparse.Namespace) -> tuple[Any, Any]:
    """X and y of the file named in the arguments; a file without labels is an error."""
    if hasattr(args, "chunks") and reads_chunks(args):
        return chunked_points(args.data, args.labels, args.label, args.chunks)
    points = read_points(args.data, args.labels, args.label)
    return points.X, required_labels(args.data, points)


def reads_chunks(args: argparse.Namespace) -> bool:
    """Whether the file is not to be read into memory."""
    return args.chunks is not None or Path(args.data).suffix.lower() in PARQUET


def required_labels(path: str, points: Points) -> Any:
    if points.y is None:
        raise CommandError(f"{path} holds no labels; give them with --labels FILE")
    return points.y


def make_classifier(args: argparse.Namespace, solver: str, **further: Any) -> HyperbolicSVC:
    """The classifier that the arguments for geometry and problem describe; `further` are parameters of it."""
    return HyperbolicSVC(
        C=args.C,
        solver=solver,
        geometry=args.geometry,
        curvature=args.curvature,
        class_weight=args.class_weight,
        uncertainty=args.uncertainty,
        tol=args.tol,
        random_state=args.seed,
        **further,
    )


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


def chosen_methods(text: str | None) -> tuple[str, ...]:
    """The methods in a comma-separated list, or all there are; an unknown name is an error that lists them."""
    if text is None:
        return available_methods()
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise CommandError("--methods names no method")
    for name in names:
        get_solver(name)
    return names
