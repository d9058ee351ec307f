"""`hypermargin fit`: a file of labelled points to a model file."""

import argparse
import sys
from collections import Counter
from contextlib import nullcontext

import numpy as np

from hypermargin.cli.certificate import write_certificates
from hypermargin.cli.console import number, percent, say, show_table
from hypermargin.cli.files import check_output
from hypermargin.cli.options import (
    AUTO,
    add_data_arguments,
    add_geometry_arguments,
    add_multiclass_arguments,
    add_problem_arguments,
    add_unlabelled_argument,
    check_folds,
    labelled_points,
    make_classifier,
    quiet_folds,
    solver_options,
    without_names,
)
from hypermargin.estimators import HyperbolicSVCCV, save_model
from hypermargin.progress import Progress

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
  hypermargin fit points.npz --uncertainty geodesic=0.1 --output model.npz
      margins that hold when every point moves by a distance of 0.1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_data_arguments(parser)
    add_unlabelled_argument(parser)
    parser.add_argument("--output", "-o", required=True, metavar="MODEL", help="the model file to write (.npz)")
    parser.add_argument("--solver", default="exact", help="the method; `hypermargin methods` lists them (%(default)s)")
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
    parser.add_argument("--folds", type=int, default=5, metavar="K", help="folds that choose C (%(default)s)")
    parser.add_argument("--details", action="store_true", help="a line for each binary problem")
    add_geometry_arguments(parser)
    add_problem_arguments(parser, may_choose=True)
    add_multiclass_arguments(parser)


def run(args: argparse.Namespace) -> None:
    output = check_output(args.output, (".npz",))
    points = labelled_points(args)
    X, y = points.X, points.labels
    if args.C == AUTO:
        check_folds(points, args.folds)
    model = make_classifier(
        args,
        args.solver,
        multi_class=args.multi_class,
        n_jobs=args.jobs,
        fit_intercept=args.fit_intercept,
        allow_timelike=args.allow_timelike,
        refine=args.refine,
        solver_options=solver_options(args.option) or None,
        verbose=int(sys.stderr.isatty()),
    )
    with quiet_folds(), nullcontext() if sys.stderr.isatty() else Progress("fitting", None):
        model.fit(X, y)
    if points.names is not None:
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
    say(f"{len(X)} points, {len(model.classes_)} classes, {len(model.solutions_)} binary problem(s) by {args.solver}")
    for status, count in Counter(model.statuses_).items():
        say(f"  {count} x {status.value}")
    say(_accuracy(model, X, y))
    say(f"wrote {output}")
    if args.certificates is not None:
        for line in write_certificates(model, args.certificates):
            say(line)


def _accuracy(model, X, y) -> str:
    """What is known of the accuracy: that of the folds where they chose C, else that on the points themselves."""
    if not isinstance(model, HyperbolicSVCCV):
        right = float(np.mean(without_names(model).predict(X) == y))  # without names, because X is an array
        return f"accuracy on these points: {percent(right)} (fitted to them)"
    scores = model.scores_[:, int(np.argmax(model.Cs_ == model.C_))]
    mean, least, most = (percent(float(score)) for score in (scores.mean(), scores.min(), scores.max()))
    return (
        f"C = {model.C_:g}, the best of {len(model.Cs_)} values from {model.Cs_[0]:g} to {model.Cs_[-1]:g}; "
        f"cross-validated accuracy {mean} in {len(scores)} folds ({least} to {most}), a little too good because it "
        "chose C: `hypermargin cv` measures it without that"
    )
