"""`hypermargin demo`: every method on a Gaussian mixture and on a tree that the project makes itself."""

import argparse

from hypermargin.cli.compare import held_out, show_rows, try_rows
from hypermargin.cli.console import CommandError, make_folder, say, with_progress, write_csv
from hypermargin.datasets import make_gaussian_mixture, make_tree
from hypermargin.estimators import HyperbolicSVC
from hypermargin.solvers import available_methods

EXAMPLES = """examples:
  hypermargin demo
      two tables, two pictures and two data files in the folder demo, in about a minute
  hypermargin demo --size 300 --seed 3 --output bigger
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", "-o", default="demo", metavar="FOLDER", help="where pictures go (%(default)s)")
    parser.add_argument("--size", type=int, default=120, metavar="N", help="points in each data set (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the data (%(default)s)")
    parser.add_argument("-C", type=float, default=1.0, help="weight of the risk against the margin (%(default)s)")


def run(args: argparse.Namespace) -> None:
    # matplotlib takes half a second to load, and `--help` does not need it.
    from hypermargin.cli.pictures import PoincareDisplay, save_picture

    if args.size < 20:
        raise CommandError(f"--size must be at least 20, got {args.size}")
    folder = make_folder(args.output)
    methods = available_methods()
    common = {"random_state": args.seed, "return_X_y": True}
    mixture = make_gaussian_mixture(args.size // 2, scale=0.7, centers=[[0.4, 0.8], [1.9, -0.4]], **common)
    tree = make_tree(args.size, positive_fraction=0.25, radius=6.0, **common)
    for name, title, (X, y) in (("gaussian", "Gaussian mixture", mixture), ("tree", "Random tree", tree)):
        train, (X_test, y_test) = held_out(X, y, 0.25, args.seed)
        classifiers = {method: HyperbolicSVC(C=args.C, solver=method, random_state=args.seed) for method in methods}
        rows = try_rows(with_progress(methods, title), classifiers, train, (X_test, y_test))
        show_rows(f"{title}: {len(train[0])} points, C = {args.C:g}", rows, f"on {len(X_test)} points held out")
        solutions = {row.method: row.estimator.solutions_[0] for row in rows}
        display = PoincareDisplay.from_solutions(solutions, *train, X_test=X_test, y_test=y_test)
        save_picture(display, folder / f"{name}.png", title)
        write_csv(folder / f"{name}.csv", X, y)
        say(f"wrote {folder / name}.png and {folder / name}.csv\n")
    say(f"next: hypermargin fit {folder / 'tree.csv'} --output model.npz")
