"""`hypermargin fit`: a file of labelled points to a model file."""

import argparse
import sys
from collections import Counter

import numpy as np

from hypermargin.cli.certificate import write_certificates
from hypermargin.cli.console import number, percent, say, show_table
from hypermargin.cli.files import check_output
from hypermargin.cli.options import (
    add_chunk_argument,
    add_data_arguments,
    add_geometry_arguments,
    add_multiclass_arguments,
    add_problem_arguments,
    labelled_points,
    make_classifier,
    solver_options,
)
from hypermargin.estimators import save_model

EXAMPLES = """examples:
  hypermargin fit points.csv --output model.npz
      the last column of the .csv is the label, the others are Lorentz coordinates
  hypermargin fit embedding.npy --labels y.npy --geometry poincare --output model.npz
      coordinates on the Poincaré ball, labels in a file of their own
  hypermargin fit points.npz --solver pgd --option epochs=4000 -C 10 --output model.npz
      another method, with an option of its own
  hypermargin fit large.parquet --label kind --output model.npz
      a file larger than memory, read in chunks for every pass
  hypermargin fit points.npz --uncertainty geodesic=0.1 --output model.npz
      margins that hold when every point moves by a distance of 0.1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_data_arguments(parser)
    add_chunk_argument(parser)
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
    parser.add_argument("--details", action="store_true", help="a line for each binary problem")
    add_geometry_arguments(parser)
    add_problem_arguments(parser)
    add_multiclass_arguments(parser)


def run(args: argparse.Namespace) -> None:
    output = check_output(args.output, (".npz",))
    X, y = labelled_points(args)
    model = make_classifier(
        args,
        args.solver,
        multi_class=args.multi_class,
        n_jobs=args.jobs,
        fit_intercept=args.fit_intercept,
        allow_timelike=args.allow_timelike,
        refine=args.refine,
        solver_options=solver_options(args.option) or None,
        verbose=int(sys.stderr.isatty()),  # a progress bar, where somebody can see it move
    ).fit(X, y)
    save_model(model, output)
    if args.details:
        show_table(
            "Binary problems",
            ("problem", "objective", "lower bound", "gap", "seconds", "status"),
            [
                (str(k), number(s.objective), number(s.lower_bound), number(s.gap), f"{s.time:.3f}", s.status.name)
                for k, s in enumerate(model.solutions_, start=1)
            ],
        )
    points = f"{len(X)} points" if isinstance(X, np.ndarray) else f"{args.data} in chunks"
    say(f"{points}, {len(model.classes_)} classes, {len(model.solutions_)} binary problem(s) by {args.solver}")
    for status, count in Counter(model.statuses_).items():
        say(f"  {count} x {status.value}")
    say(f"accuracy on these points: {percent(model.score(X, y))}")
    say(f"wrote {output}")
    if args.certificates is not None:
        for line in write_certificates(model, args.certificates):
            say(line)
