"""`hypermargin explore`: a page to look at points and models by moving the hyperbolic plane."""

import argparse
from pathlib import Path

from hypermargin.cli.console import CommandError, check_output, say
from hypermargin.cli.options import add_shared_arguments, drop_names, make_classifier, points_of
from hypermargin.cli.reading import Points, Wanted, read_points
from hypermargin.estimators import load_model
from hypermargin.progress import Progress

#: Values of C of a path if the option has no number: two steps for each factor of ten, over four of them.
USUAL_PATH = 9

EXAMPLES = """examples:
  hypermargin explore points.csv --model model.npz --output page.html
      a page with everything in it: open it in a browser, send it to a colleague
  hypermargin explore points.csv --model model.npz --test more.csv --output page.html
      test points as triangles
  hypermargin explore points.csv --edges graph.gml --output page.html
      the edges of the graph whose nodes the points are
  hypermargin explore points.csv --path --output page.html
      fit the exact method for nine values of C, with the proof of each
  hypermargin explore points.csv --geometry poincare --output page.html
      the points alone
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared_arguments(parser, "data", "unlabelled", "edges")
    parser.add_argument("--output", "-o", required=True, metavar="PAGE", help="the page to write (.html)")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="MODEL",
        help="a model file; may be repeated, the first is shown at first",
    )
    parser.add_argument("--test", metavar="FILE", help="test points, in a file like that of the points")
    parser.add_argument("--ids", metavar="FILE", help="names of the points to search for, one per line")
    parser.add_argument(
        "--path",
        type=int,
        nargs="?",
        const=USUAL_PATH,
        metavar="N",
        help=f"a slider over C: refit the first model to these points for N values around its C ({USUAL_PATH})",
    )
    parser.add_argument("--title", help="the heading of the page (default: the name of the file)")
    parser.add_argument(
        "--center", choices=("mean", "origin"), default="mean", help="what is in the middle at first (%(default)s)"
    )
    add_shared_arguments(parser.add_argument_group("coordinates (with --model those of the model)"), "geometry")
    add_shared_arguments(parser.add_argument_group("with --path and without --model"), "C", "weights", "search")


def run(args: argparse.Namespace) -> None:
    # The pictures of proofs need matplotlib, which takes half a second to load; `--help` does not.
    from hypermargin.cli.embed import edges_among
    from hypermargin.explorer import explore

    output = check_output(args.output, (".html", ".htm"))
    models = {Path(name).name: load_model(name) for name in args.model}
    if len(models) < len(args.model):
        raise CommandError("two models have the same file name: give each a name of its own")
    first = next(iter(models.values())) if models else None
    width = None if first is None else first.n_features_in_
    points = points_of(args, first)
    for model in models.values():
        drop_names(model)
    test = read_points(args.test, Wanted(args.label, width=width)) if args.test else Points(None, None)  # type: ignore[arg-type]
    if args.test and args.skip_unlabelled:
        test = test.labelled()
    if args.test and (test.y is None) != (points.y is None):
        raise CommandError(f"{args.data} and {args.test} must both have labels, or neither")
    if args.path is not None and not models:
        if points.y is None:
            raise CommandError(f"--path fits a model, and {args.data} holds no labels; give them with --labels FILE")
        known = points.labelled()
        models = {"exact": make_classifier(args, "exact").fit(known.X, known.y)}
    ids = _names(args.ids, len(points.X)) if args.ids else points.ids
    with Progress("making the page", None):
        page = explore(
            models,
            points.X,
            points.partial_labels,
            X_test=test.X,
            y_test=None if test.y is None else test.partial_labels,
            ids=ids,
            path=args.path,
            geometry=None if models else args.geometry,
            curvature=None if models else args.curvature,
            center=args.center,
            title=args.title or Path(args.data).name,
            edges=edges_among(args.edges, ids, len(points.X)) if args.edges else None,
        ).save(output)
    say(f"wrote {page} ({page.stat().st_size / 1e6:.1f} MB); open it in a browser")


def _names(path: str, count: int) -> list[str]:
    try:
        names = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not a text file in UTF-8") from error
    if len(names) != count:
        raise CommandError(f"{path} has {len(names)} lines and there are {count} points: give one name per line")
    return names
