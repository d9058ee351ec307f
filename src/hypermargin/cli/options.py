"""Arguments that several commands share, and the classifier they describe."""

import argparse
import ast
from typing import Any

from hypermargin.cli.console import CommandError
from hypermargin.cli.files import Points, read_points
from hypermargin.estimators import HyperbolicKernelSVC, HyperbolicSVC
from hypermargin.estimators.kernel_choice import PARAMETERS
from hypermargin.geometry.validation import GEOMETRIES
from hypermargin.kernels import KERNELS
from hypermargin.problems import Ball, Box, CrossPolytope, GeodesicBall, UncertaintySet
from hypermargin.problems.losses import LOSSES
from hypermargin.solvers import available_methods, get_solver

#: Uncertainty sets that one number describes.
SETS: dict[str, type[UncertaintySet]] = {"geodesic": GeodesicBall, "box": Box, "cross": CrossPolytope, "ball": Ball}


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """The file of points and where its labels are."""
    parser.add_argument("data", help="points: .npz (arrays X and y), .npy (with --labels) or .csv")
    parser.add_argument("--labels", metavar="FILE", help="labels in a file of their own: .npy, or one per line")
    parser.add_argument("--label", metavar="COLUMN", help="column of a .csv that holds the labels (default: the last)")


def add_geometry_arguments(parser: argparse._ActionsContainer) -> None:
    """What the coordinates in the file mean."""
    parser.add_argument("--geometry", choices=GEOMETRIES, default="lorentz", help="what the columns are (%(default)s)")
    parser.add_argument("--curvature", type=float, default=1.0, help="the space has curvature minus this (%(default)s)")


def add_problem_arguments(parser: argparse._ActionsContainer) -> None:
    """What is minimised, and how closely."""
    add_weight_arguments(parser, C=1.0)
    parser.add_argument(
        "--loss", choices=tuple(LOSSES), help="the loss to minimise, where the method can (default: the method's own)"
    )
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
    points = read_points(args.data, args.labels, args.label)
    return points.X, required_labels(args.data, points)


def required_labels(path: str, points: Points) -> Any:
    if points.y is None:
        raise CommandError(f"{path} holds no labels; give them with --labels FILE")
    return points.y


def make_classifier(args: argparse.Namespace, solver: str, **further: Any) -> HyperbolicSVC | HyperbolicKernelSVC:
    """The classifier that the arguments for geometry and problem describe; `further` are parameters of it.

    `solver` is a method for geodesic boundaries, "curve", or the name of a kernel.
    """
    problem: dict[str, Any] = dict(
        C=args.C,
        geometry=args.geometry,
        curvature=args.curvature,
        class_weight=args.class_weight,
        tol=args.tol,
        random_state=args.seed,
    )
    if solver in KERNELS:
        if args.uncertainty is not None:
            raise CommandError("--uncertainty is for geodesic boundaries; a kernel has no robust form here")
        return HyperbolicKernelSVC(kernel=solver, **problem, **further)
    boundary: dict[str, Any] = {"boundary": "curve"} if solver == "curve" else {"solver": solver}
    return HyperbolicSVC(uncertainty=args.uncertainty, **boundary, **problem, **{"loss": args.loss, **further})


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
