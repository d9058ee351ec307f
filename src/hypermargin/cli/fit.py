"""`hypermargin fit`: a file of labelled points to a model file."""

import argparse
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from hypermargin.cli.certificate import refuse_other_files, write_certificates
from hypermargin.cli.console import CommandError, check_output, number, percent, say, show_table
from hypermargin.cli.options import (
    AUTO,
    add_shared_arguments,
    check_folds,
    check_options,
    chosen_parameters,
    classifier_of,
    folds,
    make_chooser,
    points_of,
    quiet_folds,
)
from hypermargin.cli.reading import ChunkedPoints, Points, chunked_points, reads_chunks
from hypermargin.estimators import HyperbolicClassifierCV, HyperbolicKernelSVC, HyperbolicSVCCV, save_model
from hypermargin.estimators.base import HyperbolicClassifier
from hypermargin.estimators.kernel_fitting import METHODS
from hypermargin.progress import Progress

EXAMPLES = """examples:
  hypermargin fit points.csv --output model.npz
      the last column of the .csv is the label, the others are Lorentz coordinates
  hypermargin fit cells.tsv --columns x,y --label cell_type --id cell_id --geometry poincare --output model.npz
      which columns are what; the model keeps the names of the columns, which `predict` then expects
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
  hypermargin fit points.npz --model forest --output model.npz
      trees of hyperplanes; --model neighbours is the vote of the nearest points
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
    add_shared_arguments(parser, "data", "chunks", "unlabelled")
    parser.add_argument("--output", "-o", required=True, metavar="MODEL", help="the model file to write (.npz)")
    add_shared_arguments(parser, "model", "solver", "kernel")
    parser.add_argument("--fit-intercept", action="store_true", help="fit an intercept, if the method can")
    parser.add_argument("--allow-timelike", action="store_true", help="allow spheres as boundaries, if the method can")
    parser.add_argument("--refine", action="store_true", help="follow the method by a local descent on its loss")
    parser.add_argument("--certificates", metavar="FOLDER", help="write the proofs of the answers to files there")
    parser.add_argument(
        "--no-certificates", action="store_true", help="keep the proofs out of the model file, which makes it small"
    )
    add_shared_arguments(parser, "auto")
    parser.add_argument(
        "--folds", type=int, metavar="K", help="folds that choose C, or a model (default: 5; with auto as n suggests)"
    )
    parser.add_argument("--details", action="store_true", help="a line for each binary problem")
    add_shared_arguments(parser, "geometry", "C or auto", "weights", "search", "classes")


def run(args: argparse.Namespace) -> None:
    output = check_output(args.output, (".npz",), inputs=(args.data, args.labels))
    if args.certificates is not None:
        refuse_other_files(args.certificates)
    check_options(args)
    points = _points(args)
    if args.model == "auto":
        assert isinstance(points, Points)  # chunks were refused
        _choose(args, points, output)
    else:
        _fit(args, points, output)


def _points(args: argparse.Namespace) -> Points | ChunkedPoints:
    if reads_chunks(args):
        if args.model != "geodesic" or args.solver != "exact":
            raise CommandError("files in chunks are for --model geodesic with --solver exact")
        if args.C == AUTO:
            raise CommandError(f"-C {AUTO} needs all points in memory; choose C on some of them")
        return chunked_points(args)
    return points_of(args, labelled=True)


def _fit_quietly(model: HyperbolicClassifier, points: Points | ChunkedPoints) -> None:
    """Fit with the progress bar of the model on a terminal, and with a line now and then in a log."""
    with quiet_folds(), nullcontext() if sys.stderr.isatty() else Progress("fitting", None):
        model.fit(points.X, points.labels)


def _save(args: argparse.Namespace, model: HyperbolicClassifier, points: Points | ChunkedPoints, output: Path) -> None:
    """Write the model with the names of its columns."""
    if isinstance(points, Points) and points.names is not None:
        model.feature_names_in_ = np.array(points.names, dtype=object)
    save_model(model, output, certificates=not args.no_certificates)


# -- one model ---------------------------------------------------------------------------------------------------------


def _fit(args: argparse.Namespace, points: Points | ChunkedPoints, output: Path) -> None:
    args.folds = 5 if args.folds is None else args.folds
    if args.C == AUTO:
        assert isinstance(points, Points)
        check_folds(points, args.folds)
    model = classifier_of(args, verbose=int(sys.stderr.isatty()))
    _fit_quietly(model, points)
    accuracy = _accuracy(model, points)  # of arrays, before the model learns the names of the columns
    _save(args, model, points, output)
    solutions = getattr(model, "solutions_", [])  # neighbours and forests have none
    if args.details and solutions:
        show_table(
            "Binary problems",
            ("problem", "objective", "lower bound", "gap", "seconds", "status"),
            [
                (str(k), number(s.objective), number(s.lower_bound), number(s.gap), f"{s.time:.3f}", s.status.name)
                for k, s in enumerate(solutions, start=1)
            ],
        )
    how = {"geodesic": args.solver, "curve": "curves"}.get(args.model, "")
    how = _kernel_in_words(model) if args.model == "kernel" else how
    data = f"{len(points.X)} points" if isinstance(points, Points) else f"{args.data} in chunks"
    done = f"{len(solutions)} binary problem(s) by {how}" if solutions else f"by {args.model}"
    say(f"{data}, {len(model.classes_)} classes, {done}")
    for status, count in Counter(getattr(model, "statuses_", ())).items():
        say(f"  {count} x {status.value}")
    say(accuracy)
    say(f"wrote {output}")
    if args.certificates is not None:
        for line in write_certificates(model, args.certificates):
            say(line)


def _kernel_in_words(model: HyperbolicKernelSVC) -> str:
    """The kernel with its parameter, and how its values were computed."""
    parameters = ", ".join(f"{name} = {value:.4g}" for name, value in vars(model.kernel_).items())
    described = f"the {model.kernel_.name} kernel" + (f" ({parameters})" if parameters else "")
    return f"{described} from {METHODS[model.method_]}, {len(model.support_vectors_)} support points"


def _accuracy(model, points: Points | ChunkedPoints) -> str:
    """The accuracy in the folds if they chose C, else the accuracy on the points themselves."""
    if not isinstance(model, HyperbolicSVCCV):
        right = model.score(points.X, points.labels)
        return f"accuracy on these points: {percent(right)} (fitted to them)"
    scores = model.scores_[:, int(np.argmax(model.Cs_ == model.C_))]
    mean, least, most = (percent(float(score)) for score in (scores.mean(), scores.min(), scores.max()))
    return (
        f"C = {model.C_:g}, the best of {len(model.Cs_)} values from {model.Cs_[0]:g} to {model.Cs_[-1]:g}; "
        f"cross-validated accuracy {mean} in {len(scores)} folds ({least} to {most}), a little too good because it "
        "chose C: `hypermargin cv` measures it without that"
    )


# -- a choice among models ---------------------------------------------------------------------------------------------


def _choose(args: argparse.Namespace, points: Points, output: Path) -> None:
    """Choose a model for the points, write it, and say what was chosen and from what."""
    if args.folds is not None:
        check_folds(points, args.folds)
    cv = None if args.folds is None else folds(args.folds, args.seed)
    model = make_chooser(args, points, cv, verbose=sys.stderr.isatty())
    _fit_quietly(model, points)
    _save(args, model, points, output)
    metric = args.scoring or "accuracy"
    show_table(
        "All candidates" if args.details else "The best of each family",
        ("family", "parameters", metric, "± over folds", "rank", "seconds"),
        _candidates(model, everything=args.details),
    )
    say(f"{len(points.X)} points, {len(model.classes_)} classes: {model.explanation_}")
    say(f"The {metric} of the winner is a little too good, because it was chosen by it.")
    if model.n_splits_:
        say(f"Does the geometry help here? {model.verdict_.sentence}")
    say(f"wrote {output}")


def _candidates(model: HyperbolicClassifierCV, *, everything: bool) -> list[tuple[str, ...]]:
    """A row for each candidate from the best to the worst, or for the best of each family."""
    table = model.cv_results_
    shown: list[int] = []
    for i in np.argsort(table["rank_test_score"], kind="stable").tolist():
        if everything or table["family"][i] not in {table["family"][j] for j in shown}:
            shown.append(i)
    return [
        (
            table["family"][i],
            chosen_parameters(table["params"][i]),
            _score(table["mean_test_score"][i]),
            _score(table["std_test_score"][i]),
            str(table["rank_test_score"][i]) if np.isfinite(table["mean_test_score"][i]) else "screened out",
            f"{table['seconds'][i]:.1f}",
        )
        for i in shown
    ]


def _score(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "–"
