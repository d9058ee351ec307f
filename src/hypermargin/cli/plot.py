"""`hypermargin plot`: points and boundaries on the Poincaré disk, or the proof that a boundary is optimal."""

import argparse

import numpy as np

from hypermargin.cli.console import CommandError, check_output, say, with_progress
from hypermargin.cli.options import (
    WITHOUT_C,
    add_shared_arguments,
    chosen_methods,
    drop_names,
    make_classifier,
    points_of,
    split_list,
)
from hypermargin.data.ingest import unit_points
from hypermargin.estimators import load_model
from hypermargin.kernels import KERNELS

EXAMPLES = """examples:
  hypermargin plot points.csv --output points.png
      the points alone
  hypermargin plot points.csv --model model.npz --output regions.png
      a fitted model: its regions, and its boundary if there are two classes
  hypermargin plot points.csv --model forest.npz --tree 0 --output tree.png
      the first tree of a forest: its regions and its splits
  hypermargin plot points.csv --methods euclidean,pgd --zoom boundary --output both.pdf
      the boundaries of several methods in one picture
  hypermargin plot points.csv --methods exact,exact:asinh --output optima.png
      the optima of two losses
  hypermargin plot points.csv --proof --output proof.png
      the proof that the exact method's answer is optimal (two classes, any dimension)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared_arguments(parser, "data", "unlabelled", "edges")
    parser.add_argument("--output", "-o", required=True, metavar="PICTURE", help="the picture (.png, .pdf or .svg)")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--model", help="a model file to show")
    shown.add_argument("--methods", metavar="A,B,...", help="fit these methods (or METHOD:LOSS), draw their boundaries")
    shown.add_argument("--proof", action="store_true", help="fit by the exact method and draw the proof of its optimum")
    parser.add_argument(
        "--zoom", choices=("disk", "data", "boundary"), default="disk", help="what to show (%(default)s)"
    )
    parser.add_argument(
        "--center", choices=("origin", "mean"), default="origin", help="what is in the middle (%(default)s)"
    )
    parser.add_argument(
        "--tree", type=int, metavar="K", help="with --model: draw the splits of the forest's tree K, from 0"
    )
    add_shared_arguments(parser.add_argument_group("coordinates (with --model those of the model)"), "geometry")
    add_shared_arguments(parser.add_argument_group("with --methods or --proof"), "C", "weights", "search")


def run(args: argparse.Namespace) -> None:
    # matplotlib takes half a second to load, and `--help` does not need it.
    from hypermargin.cli.embed import edges_among
    from hypermargin.cli.pictures import FORMATS, PoincareDisplay, TreeDisplay, plot_proof, save_figure, save_picture

    output = check_output(args.output, FORMATS)
    if args.zoom == "boundary" and not (args.model or args.methods):
        raise CommandError("--zoom boundary needs a boundary: give --model or --methods")
    if args.proof and (args.zoom, args.center, args.edges) != ("disk", "origin", None):
        raise CommandError("--zoom, --center and --edges are for pictures of the disk; --proof draws curves")
    if args.tree is not None and args.edges:
        raise CommandError("--edges does not go with --tree, whose lines are its splits")
    zoom = None if args.zoom == "disk" else args.zoom
    center = None if args.center == "origin" else args.center
    model = load_model(args.model, certificates=False) if args.model else None
    n_trees = len(getattr(model, "trees_", ()))
    if args.tree is not None and not 0 <= args.tree < n_trees:
        what = (
            f"the model has {n_trees} trees, numbered from 0" if n_trees else "--tree needs a forest: give its --model"
        )
        raise CommandError(f"there is no tree {args.tree}: {what}")
    points = points_of(args, model, labelled=bool(args.proof or args.methods))
    y = points.partial_labels
    if y is None:
        y = np.full(len(points.X), None)
    if args.proof:
        if len(set(y.tolist())) != 2:
            raise CommandError("--proof draws the proof of one binary problem: give points of two classes")
        fitted = make_classifier(args, "exact").fit(points.X, y)
        save_figure(plot_proof(fitted.solutions_[0], fitted.binary_problems(points.X, y)[0]), output)
        say(f"wrote {output}")
        return
    display: PoincareDisplay | TreeDisplay
    edges = edges_among(args.edges, points.ids, len(points.X)) if args.edges else None
    if model is not None and (args.tree is not None or (n_trees == 1 and edges is None)):
        drop_names(model)
        display = TreeDisplay.from_estimator(model, points.X, y, index=args.tree or 0, zoom=zoom, center=center)
    elif model is not None:
        display = PoincareDisplay.from_estimator(drop_names(model), points.X, y, zoom=zoom, center=center, edges=edges)
    else:
        X = unit_points(points.X, args.geometry, args.curvature)
        solutions = {}
        if args.methods:
            if len(set(y.tolist())) != 2:
                raise CommandError(
                    "--methods draws boundaries between two classes; fit a model and give it with --model"
                )
            chosen = split_list(args.methods)
            methods = chosen_methods(",".join(label.partition(":")[0] for label in chosen))
            if any(method in (*KERNELS, *WITHOUT_C) for method in methods):
                raise CommandError(
                    "a kernel has regions and level lines, and so have neighbours and forests: fit one with "
                    "`hypermargin fit --model kernel` and give it with --model"
                )
            for label in with_progress(chosen, "fitting"):
                method, colon, loss = label.partition(":")
                fitted = make_classifier(args, method, loss=loss if colon else args.loss).fit(points.X, y)
                solutions[label] = fitted.solutions_[0]
        display = PoincareDisplay.from_solutions(solutions, X, y, zoom=zoom, center=center, edges=edges)
    save_picture(display, output)
    say(f"wrote {output}")
