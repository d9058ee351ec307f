"""`hypermargin predict`: a model and a file of points to labels."""

import argparse
import csv
import sys

import numpy as np

from hypermargin.cli.console import CommandError, percent, say
from hypermargin.cli.files import check_output
from hypermargin.cli.options import add_data_arguments, points_of, without_names
from hypermargin.estimators import load_model

EXAMPLES = """examples:
  hypermargin predict model.npz new.csv
      one label per line on standard output, after the id where new.csv has ids; columns that the model does not
      know are left out
  hypermargin predict model.npz new.npy --probabilities --output answers.csv
      a .csv with the label and the probability of every class
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a model file that `hypermargin fit` wrote")
    add_data_arguments(parser)
    parser.add_argument("--output", "-o", metavar="FILE", help="write a .csv instead of printing")
    parser.add_argument("--probabilities", "-p", action="store_true", help="a column for the probability of each class")
    parser.add_argument(
        "--radii", action="store_true", help="a column for the distance within which the label cannot change"
    )


def run(args: argparse.Namespace) -> None:
    output = check_output(args.output, (".csv",)) if args.output else None
    model = load_model(args.model, certificates=False)
    points = points_of(args, model)
    model = without_names(model)
    labels = model.predict(points.X)
    header, columns = ["label"], [labels.tolist()]
    if points.ids is not None:
        header, columns = [points.id_name, *header], [points.ids, *columns]
    if args.probabilities:
        header += [f"p_{name}" for name in model.classes_.tolist()]
        columns += np.round(model.predict_proba(points.X), 9).T.tolist()
    if args.radii:
        if not hasattr(model, "certified_radius"):
            raise CommandError(f"--radii: a {type(model).__name__} has no certified radii")
        header.append("certified_radius")
        columns.append(model.certified_radius(points.X).tolist())
    if output is None:
        _write(sys.stdout, header if len(header) > 1 else [], columns)
        return
    with output.open("w", newline="", encoding="utf-8") as file:
        _write(file, header, columns)
    if points.y is not None and not points.missing.all():
        known = ~points.missing
        right = float(np.mean(labels.astype(str)[known] == points.y.astype(str)[known]))
        say(f"accuracy against the {int(known.sum())} labels in the file: {percent(right)}")
    say(f"wrote {output}")


def _write(file, header: list[str], columns: list[list]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    if header:
        writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
