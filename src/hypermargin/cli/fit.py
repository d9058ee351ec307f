"""`hypermargin fit`: a file of labelled points to a model file."""

import argparse
import sys
from collections import Counter
from contextlib import nullcontext

import numpy as np

from hypermargin.cli.auto import add_auto_arguments, fit_auto, refuse_auto_arguments
from hypermargin.cli.certificate import refuse_other_files, write_certificates
from hypermargin.cli.console import CommandError, number, percent, say, show_table
from hypermargin.cli.files import check_output
from hypermargin.cli.options import (
    AUTO,
    add_data_arguments,
    add_geometry_arguments,
    add_multiclass_arguments,
    add_problem_arguments,
    add_unlabelled_argument,
    check_folds,
    kernel_setting,
    labelled_points,
    make_classifier,
    quiet_folds,
    solver_options,
    without_names,
)
from hypermargin.cli.reading import Points
from hypermargin.cli.reading.chunks import ChunkedPoints, add_chunk_argument, chunked_points, reads_chunks
from hypermargin.estimators import HyperbolicKernelSVC, HyperbolicSVC, HyperbolicSVCCV, save_model
from hypermargin.estimators.kernel_fitting import METHODS
from hypermargin.progress import Progress

MODELS = ("geodesic", "curve", "kernel", "auto")

EXAMPLES = """examples:
  hypermargin fit points.csv --output model.npz
      the last column of the .csv is the label, the others are Lorentz coordinates
  hypermargin fit cells.tsv --columns x,y --label cell_type --id cell_id --geometry poincare --output model.npz
      what is what in a table; the model keeps the names of the columns and asks for them when it predicts
  hypermargin fit atlas.h5ad --obsm X_poincare --label obs:cell_type --geometry poincare --output model.npz
      cells of an AnnData file
  hypermargin fit points.csv -C auto --output model.npz
      C chosen by cross-validation
  hypermargin fit embedding.npy --labels y.npy --geometry poincare --output model.npz
      coordinates on the Poincaré ball, labels in a file of their own
  hypermargin fit points.npz --solver pgd --option epochs=4000 -C 10 --output model.npz
      another method, with an option of its own
  hypermargin fit points.npz --model curve --output model.npz
      boundaries that are hypercycles, horocycles or circles
  hypermargin fit points.npz --model kernel --kernel heat=0.5 -C 10 --output model.npz
      boundaries of any shape, by a kernel of the hyperbolic distance
  hypermargin fit large.parquet --label kind --chunks 1000000 --output model.npz
      a file larger than memory, a million rows at a time
  hypermargin fit points.npz --model auto --output model.npz
      the best of all families (straight boundaries, curves, kernels, forests, neighbours, blends) by cross-validation
  hypermargin fit rare.npz --model auto --scoring average_precision --candidates neighbours,forest --output model.npz
      the best of two families for ranking a rare class
  hypermargin fit points.npz --uncertainty geodesic=0.1 --output model.npz
      margins that hold when every point moves by a distance of 0.1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_data_arguments(parser)
    add_chunk_argument(parser)
    add_unlabelled_argument(parser)
    parser.add_argument("--output", "-o", required=True, metavar="MODEL", help="the model file to write (.npz)")
    parser.add_argument(
        "--model",
        choices=MODELS,
        default="geodesic",
        help="the boundary: a hyperplane, a generalised hyperplane, any shape by a kernel, or what does best in "
        "cross-validation (%(default)s)",
    )
    parser.add_argument("--solver", default="exact", help="the method; `hypermargin methods` lists them (%(default)s)")
    parser.add_argument(
        "--kernel",
        type=kernel_setting,
        metavar="NAME[=VALUE]",
        help="with --model kernel: heat, cosh, laplacian or distance, with a parameter or that of the data (heat)",
    )
    parser.add_argument("--landmarks", type=int, metavar="N", help="with --model kernel: approximate it by N points")
    parser.add_argument("--cache", type=float, metavar="MB", help="with --model kernel: memory for it (2000)")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the method; may be repeated"
    )
    parser.add_argument("--fit-intercept", action="store_true", help="fit an intercept, where the method can")
    parser.add_argument(
        "--allow-timelike", action="store_true", help="allow spheres as boundaries, where the method can"
    )
    parser.add_argument("--refine", action="store_true", help="follow the method by a local descent on its loss")
    parser.add_argument("--certificates", metavar="FOLDER", help="write the proofs of the answers to files there")
    parser.add_argument(
        "--no-certificates", action="store_true", help="keep the proofs out of the model file, which makes it small"
    )
    add_auto_arguments(parser)
    parser.add_argument(
        "--folds", type=int, metavar="K", help="folds that choose C, or a model (default: 5; with auto as n suggests)"
    )
    parser.add_argument("--details", action="store_true", help="a line for each binary problem")
    add_geometry_arguments(parser)
    add_problem_arguments(parser, may_choose=True)
    add_multiclass_arguments(parser)


def run(args: argparse.Namespace) -> None:
    output = check_output(args.output, (".npz",), inputs=(args.data, args.labels))
    if args.certificates is not None:
        refuse_other_files(args.certificates)
    points = _points(args)
    X, y = points.X, points.labels
    if args.model == "auto":
        assert isinstance(points, Points)  # chunks were refused
        fit_auto(args, points, output)
        return
    args.folds = 5 if args.folds is None else args.folds
    if args.C == AUTO:
        assert isinstance(points, Points)
        check_folds(points, args.folds)
    refuse_auto_arguments(args)
    model = _classifier(args)
    with quiet_folds(), nullcontext() if sys.stderr.isatty() else Progress("fitting", None):
        model.fit(X, y)
    if isinstance(points, Points) and points.names is not None:
        model.feature_names_in_ = np.array(points.names, dtype=object)
    save_model(model, output, certificates=not args.no_certificates)
    if args.details:
        show_table(
            "Binary problems",
            ("problem", "objective", "lower bound", "gap", "seconds", "status"),
            [
                (str(k), number(s.objective), number(s.lower_bound), number(s.gap), f"{s.time:.3f}", s.status.name)
                for k, s in enumerate(model.solutions_, start=1)
            ],
        )
    how = {"geodesic": args.solver, "curve": "curves"}.get(args.model) or _kernel_in_words(model)
    points_in_words = f"{len(X)} points" if isinstance(X, np.ndarray) else f"{args.data} in chunks"
    say(f"{points_in_words}, {len(model.classes_)} classes, {len(model.solutions_)} binary problem(s) by {how}")
    for status, count in Counter(model.statuses_).items():
        say(f"  {count} x {status.value}")
    say(_accuracy(model, X, y))
    say(f"wrote {output}")
    if args.certificates is not None:
        for line in write_certificates(model, args.certificates):
            say(line)


def _points(args: argparse.Namespace) -> Points | ChunkedPoints:
    if reads_chunks(args):
        if args.model != "geodesic" or args.solver != "exact":
            raise CommandError("files in chunks are for --model geodesic with --solver exact")
        if args.C == AUTO:
            raise CommandError(f"-C {AUTO} needs all points in memory; choose C on some of them")
        return chunked_points(args)
    return labelled_points(args)


def _classifier(args: argparse.Namespace) -> HyperbolicSVC | HyperbolicKernelSVC:
    """The classifier asked for; options of another model are an error."""
    common = {
        "multi_class": args.multi_class,
        "n_jobs": args.jobs,
        "verbose": int(sys.stderr.isatty()),  # a progress bar, where somebody can see it move
    }
    for_kernels = {"kernel": args.kernel, "landmarks": args.landmarks, "cache": args.cache}
    if args.model != "kernel":
        given = [f"--{name}" for name, value in for_kernels.items() if value is not None]
        if given:
            raise CommandError(f"{given[0]} is for --model kernel")
    if args.model == "geodesic":
        return make_classifier(
            args,
            args.solver,
            fit_intercept=args.fit_intercept,
            allow_timelike=args.allow_timelike,
            refine=args.refine,
            solver_options=solver_options(args.option) or None,
            **common,
        )
    others = {"solver": args.solver != "exact", "option": args.option, "refine": args.refine}
    others |= {"fit-intercept": args.fit_intercept, "allow-timelike": args.allow_timelike}
    given = [f"--{name}" for name, value in others.items() if value]
    if given:
        raise CommandError(f"{given[0]} is for --model geodesic")
    if args.model == "curve":
        return make_classifier(args, "curve", **common)
    setting = dict(args.kernel or {"kernel": "heat"})
    cache = {} if args.cache is None else {"cache_size": args.cache}
    return make_classifier(args, setting.pop("kernel"), n_landmarks=args.landmarks, **setting, **cache, **common)


def _kernel_in_words(model: HyperbolicKernelSVC) -> str:
    """The kernel with its parameter, and where its values came from."""
    parameters = ", ".join(f"{name} = {value:.4g}" for name, value in vars(model.kernel_).items())
    described = f"the {model.kernel_.name} kernel" + (f" ({parameters})" if parameters else "")
    return f"{described} from {METHODS[model.method_]}, {len(model.support_vectors_)} support points"


def _accuracy(model, X, y) -> str:
    """What is known of the accuracy: that of the folds where they chose C, else that on the points themselves."""
    if not isinstance(model, HyperbolicSVCCV):
        unnamed = without_names(model)  # because X is an array
        right = float(np.mean(unnamed.predict(X) == y)) if isinstance(X, np.ndarray) else model.score(X, y)
        return f"accuracy on these points: {percent(right)} (fitted to them)"
    scores = model.scores_[:, int(np.argmax(model.Cs_ == model.C_))]
    mean, least, most = (percent(float(score)) for score in (scores.mean(), scores.min(), scores.max()))
    return (
        f"C = {model.C_:g}, the best of {len(model.Cs_)} values from {model.Cs_[0]:g} to {model.Cs_[-1]:g}; "
        f"cross-validated accuracy {mean} in {len(scores)} folds ({least} to {most}), a little too good because it "
        "chose C: `hypermargin cv` measures it without that"
    )
