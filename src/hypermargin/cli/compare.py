"""`hypermargin compare`: every method on one file."""

import argparse

from sklearn.model_selection import train_test_split

from hypermargin.cli.comparison import show_rows, try_rows
from hypermargin.cli.console import CommandError, say, warn, with_progress
from hypermargin.cli.options import (
    add_data_arguments,
    add_geometry_arguments,
    add_multiclass_arguments,
    add_problem_arguments,
    add_unlabelled_argument,
    chosen_methods,
    labelled_points,
    make_classifier,
)
from hypermargin.kernels import KERNELS

EXAMPLES = """examples:
  hypermargin compare points.csv
      all methods; a quarter of the points is held out to measure accuracy
  hypermargin compare points.npz --methods euclidean,pgd --test-size 0.5 -C 0.1
  hypermargin compare points.csv --test-size 0
      fit to all points and measure accuracy on them
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_data_arguments(parser)
    add_unlabelled_argument(parser)
    parser.add_argument("--methods", metavar="A,B,...", help="the methods to compare (default: all)")
    parser.add_argument(
        "--test-size", type=float, default=0.25, metavar="SHARE", help="share of points held out (%(default)s)"
    )
    add_geometry_arguments(parser)
    add_problem_arguments(parser)
    add_multiclass_arguments(parser)


def run(args: argparse.Namespace) -> None:
    if not 0.0 <= args.test_size < 1.0:
        raise CommandError(f"--test-size must be at least 0 and below 1, got {args.test_size}")
    methods = chosen_methods(args.methods)
    if args.uncertainty is not None and args.methods is None:
        methods = tuple(method for method in methods if method not in KERNELS)
        warn(f"--uncertainty: kernels have no robust form and are left out ({', '.join(KERNELS)})")
    points = labelled_points(args)
    X, y = points.X, points.labels
    if args.test_size:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=args.test_size, stratify=y, random_state=args.seed
        )
    else:
        X_train, X_test, y_train, y_test = X, X, y, y
    scheme = {"multi_class": args.multi_class, "n_jobs": args.jobs}
    classifiers = {method: make_classifier(args, method, **scheme) for method in methods}
    rows = try_rows(with_progress(methods, "fitting"), classifiers, (X_train, y_train), (X_test, y_test))
    held_out = f"on {len(X_test)} points held out" if args.test_size else "on the points fitted to"
    show_rows(f"{args.data}: {len(X_train)} points, C = {args.C:g}", rows, held_out)
    refused = [method for method in methods if method not in {row.method for row in rows}]
    if refused:
        say(f"not in the table: {', '.join(refused)}")
