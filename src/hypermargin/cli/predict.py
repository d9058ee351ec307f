"""`hypermargin predict`: a model and a file of points to labels."""

import argparse
import csv
import sys
from typing import Any

import numpy as np

from hypermargin.cli.console import CommandError, percent, say
from hypermargin.cli.files import check_output, chunked_points, read_points
from hypermargin.cli.options import add_chunk_argument, add_data_arguments, reads_chunks
from hypermargin.estimators import load_model

EXAMPLES = """examples:
  hypermargin predict model.npz new.csv
      one label per line on standard output; a column of labels in new.csv is allowed and left out
  hypermargin predict model.npz new.npy --probabilities --output answers.csv
      a .csv with the label and the probability of every class
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a model file that `hypermargin fit` wrote")
    add_data_arguments(parser)
    add_chunk_argument(parser)
    parser.add_argument("--output", "-o", metavar="FILE", help="write a .csv instead of printing")
    parser.add_argument("--probabilities", "-p", action="store_true", help="a column for the probability of each class")


def run(args: argparse.Namespace) -> None:
    output = check_output(args.output, (".csv",)) if args.output else None
    model = load_model(args.model)
    X, y = _points(args, model)
    if isinstance(X, np.ndarray) and X.shape[1] != model.n_features_in_:
        raise CommandError(
            f"{args.data} has {X.shape[1]} coordinates per point, the model was fitted to {model.n_features_in_}"
        )
    labels = model.predict(X)
    header, columns = ["label"], [labels.tolist()]
    if args.probabilities:
        header += [f"p_{name}" for name in model.classes_.tolist()]
        columns += np.round(model.predict_proba(X), 9).T.tolist()
    if output is None:
        _write(sys.stdout, header if args.probabilities else [], columns)
        return
    with output.open("w", newline="", encoding="utf-8") as file:
        _write(file, header, columns)
    if y is not None:
        right = float(np.mean(labels.astype(str) == y.astype(str)))
        say(f"accuracy against the labels in the file: {percent(right)}")
    say(f"wrote {output}")


def _points(args: argparse.Namespace, model) -> tuple[Any, np.ndarray | None]:
    """The points of the file, or a source of them where it is read in chunks, and labels if it has any."""
    if not reads_chunks(args):
        points = read_points(args.data, args.labels, args.label, width=model.n_features_in_)
        return points.X, points.y
    names = getattr(model, "feature_names_in_", None)
    source, _ = chunked_points(args.data, None, args.label, args.chunks, None if names is None else names.tolist())
    return source, None


def _write(file, header: list[str], columns: list[list]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    if header:
        writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
