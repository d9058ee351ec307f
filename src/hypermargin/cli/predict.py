"""`hypermargin predict`: a model and a file of points to labels."""

import argparse
import csv
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from hypermargin.cli.console import CommandError, check_output, percent, say
from hypermargin.cli.options import add_shared_arguments, checked, drop_names, points_of
from hypermargin.cli.reading import Points, chunked_points, reads_chunks
from hypermargin.estimators import load_model

EXAMPLES = """examples:
  hypermargin predict model.npz new.csv
      one label per line on standard output, after the id where new.csv has ids; columns that the model was not
      fitted to are left out
  hypermargin predict model.npz new.npy --probabilities --output answers.csv
      a .csv with the label and the probability of every class
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="a model file that `hypermargin fit` wrote")
    add_shared_arguments(parser, "data", "chunks")
    parser.add_argument("--output", "-o", metavar="FILE", help="write a .csv instead of printing")
    parser.add_argument("--probabilities", "-p", action="store_true", help="a column for the probability of each class")
    parser.add_argument(
        "--radii", action="store_true", help="a column for the distance within which the label cannot change"
    )


def run(args: argparse.Namespace) -> None:
    output = check_output(args.output, (".csv",), inputs=(args.data, args.labels)) if args.output else None
    model = load_model(args.model, certificates=False)
    if args.radii and not hasattr(model, "certified_radius"):
        raise CommandError(f"--radii: a {type(model).__name__} has no certified radii")
    if output is None:
        _write_predictions(sys.stdout, model, args, always_header=False)
        return
    unfinished = output.with_name(output.name + ".part")  # an error in a late chunk leaves no partial output
    try:
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            known, right = _write_predictions(file, model, args, always_header=True)
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
    if known:
        say(f"accuracy against the {known} labels in the file: {percent(right / known)}")
    say(f"wrote {output}")


def _write_predictions(file, model: Any, args: argparse.Namespace, *, always_header: bool) -> tuple[int, int]:
    """Write the predictions; return how many labels the file holds and how many of them are predicted."""
    writer = csv.writer(file, lineterminator="\n")
    known = right = 0
    parts = _parts(args, model)
    drop_names(model)
    for k, points in enumerate(parts):
        answers = _columns(model, points, args)
        if k == 0 and (always_header or len(answers) > 1):
            writer.writerow(answers)
        writer.writerows(zip(*answers.values(), strict=True))
        if points.y is not None:
            labelled = ~points.missing
            known += int(labelled.sum())
            labels = np.array(answers["label"])
            right += int(np.sum(labels.astype(str)[labelled] == points.y.astype(str)[labelled]))
    return known, right


def _parts(args: argparse.Namespace, model: Any) -> Iterable[Points]:
    """All points at once, or in chunks."""
    if not reads_chunks(args):
        return [points_of(args, model)]
    return (checked(points, args, model) for points in chunked_points(args, model).parts())


def _columns(model: Any, points: Points, args: argparse.Namespace) -> dict[str, list]:
    """The columns of the output, by name."""
    columns: dict[str, list] = {} if points.ids is None else {points.id_name: points.ids}
    columns["label"] = model.predict(points.X).tolist()
    if args.probabilities:
        probabilities = np.round(model.predict_proba(points.X), 9).T.tolist()
        columns |= {f"p_{name}": column for name, column in zip(model.classes_.tolist(), probabilities, strict=True)}
    if args.radii:
        columns["certified_radius"] = model.certified_radius(points.X).tolist()
    return columns
