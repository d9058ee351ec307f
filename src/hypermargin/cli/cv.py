"""`hypermargin cv`: how accurate a classifier is on points it has not seen, by cross-validation."""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix

from hypermargin.cli.console import check_output, percent, say, show_table, warn, with_progress, write_columns
from hypermargin.cli.options import (
    AUTO,
    WITHOUT_C,
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
from hypermargin.cli.reading import Points
from hypermargin.estimators import HyperbolicClassifierCV
from hypermargin.estimators.scoring import positive_class

EXAMPLES = """examples:
  hypermargin cv points.csv
      accuracy in five folds; in each of them C is chosen by the other folds alone
  hypermargin cv cells.csv --columns x,y --label cell_type --geometry poincare --picture confusion.png
      and which classes are taken for which, as a table and as a picture
  hypermargin cv points.csv -C 1 --folds 10 --output predictions.csv
      a C of your own; the prediction for every point by the fold that had not seen it
  hypermargin cv points.csv --model forest
      any of the models of fit; of kernels too the parameters are chosen inside each fold
  hypermargin cv points.csv --model auto
      the model too is chosen inside each fold, by the other folds alone
"""
#: Classes of the largest confusion matrix that is printed: 20 columns of numbers fit into the width of a terminal.
WIDEST = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_shared_arguments(parser, "data", "unlabelled")
    parser.add_argument("--folds", type=int, default=5, metavar="K", help="folds (%(default)s)")
    add_shared_arguments(parser, "model")
    parser.add_argument("--output", "-o", metavar="FILE", help="every point with its prediction and fold (.csv)")
    parser.add_argument("--picture", metavar="FILE", help="the confusion matrix as .png, .pdf or .svg")
    add_shared_arguments(parser, "solver", "kernel", "auto", "geometry", "C or auto", "weights", "search", "classes")
    parser.set_defaults(C=AUTO)


def run(args: argparse.Namespace) -> None:
    output = None if args.output is None else check_output(args.output, (".csv",), inputs=(args.data, args.labels))
    picture = None if args.picture is None else check_output(args.picture, (".png", ".pdf", ".svg"))
    check_options(args)
    points = points_of(args, labelled=True)
    check_folds(points, args.folds)
    X, y = points.X, points.labels
    chooses = args.model == "auto" or (args.model == "kernel" and args.C == AUTO)
    model = make_chooser(args, points, None, verbose=False) if chooses else classifier_of(args)
    predicted, sure, fold_of = np.empty_like(y), np.empty(len(y)), np.empty(len(y), dtype=int)
    accuracies, scores, chosen, unfinished = [], [], [], 0
    positive = ""
    if isinstance(model, HyperbolicClassifierCV):  # the same class in all folds
        classes, labels = np.unique(y, return_inverse=True)
        model.pos_label, positive = positive_class(model.scoring, model.pos_label, classes, labels)
    with quiet_folds():
        splits = list(folds(args.folds, args.seed).split(X, y))
        for fold in with_progress(range(args.folds), "fold"):
            train, test = splits[fold]
            model = clone(model)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # one warning at the end
                model.fit(X[train], y[train])
            if not isinstance(model, HyperbolicClassifierCV):
                unfinished += not all(solution.is_proved for solution in getattr(model, "solutions_", ()))
            elif args.scoring is not None:
                scores.append(model.test_score(X[test], y[test]))
            predicted[test], fold_of[test] = model.predict(X[test]), fold + 1
            sure[test] = model.predict_proba(X[test]).max(axis=1)
            accuracies.append(float(np.mean(predicted[test] == y[test])))
            chosen.append(_chosen(model))
    classes = np.unique(y)
    matrix = confusion_matrix(y, predicted, labels=classes)
    _show(args, points, classes, matrix, accuracies, chosen)
    if scores:
        about = f" ({positive})" if positive else ""
        say(f"cross-validated {args.scoring}{about} {np.mean(scores):.3f} ({min(scores):.3f} to {max(scores):.3f})")
    if unfinished and args.solver == "exact":
        warn(f"in {unfinished} of {args.folds} folds not every binary problem was solved to a proof")
    if output is not None:
        _write(output, points, predicted, sure, fold_of)
        say(f"wrote {output}")
    if picture is not None:
        from hypermargin.cli.pictures import save_confusion

        save_confusion(matrix, [str(name) for name in classes], picture)
        say(f"wrote {picture}")


def _chosen(model: Any) -> str:
    """The choice made inside a fold: a family with its parameters, or C."""
    if not isinstance(model, HyperbolicClassifierCV):
        return f"{model.C:g}" if hasattr(model, "C_") else ""
    parameters = {name: value for name, value in model.best_params_.items() if name != "family"}
    return f"{model.best_params_['family']} ({chosen_parameters(parameters)})"


def _show(args, points: Points, classes, matrix, accuracies: list[float], chosen: list[str]) -> None:
    names, right = [str(name) for name in classes], np.diag(matrix)
    with np.errstate(invalid="ignore"):
        found, meant = right / matrix.sum(axis=1), right / matrix.sum(axis=0)
    show_table(
        f"{args.data}: {len(points.X)} points, {args.folds} folds",
        ("class", "points", "recognised", "precision"),
        [
            (name, str(size), percent(share), percent(trust) if np.isfinite(trust) else "–")
            for name, size, share, trust in zip(names, matrix.sum(axis=1), found, meant, strict=True)
        ],
    )
    say("Recognised: points of the class that are predicted so. Precision: predictions of the class that are right.\n")
    if len(names) <= WIDEST:
        show_table(
            "Confusion matrix",
            ("class", *names),
            [(name, *(str(count) if count else "·" for count in row)) for name, row in zip(names, matrix, strict=True)],
        )
        say("A row for each true class, a column for each prediction.\n")
    else:
        pairs = [(matrix[i, j], i, j) for i, j in np.ndindex(matrix.shape) if i != j and matrix[i, j]]
        show_table(
            f"The most frequent mistakes of {len(pairs)} kinds ({len(names)} classes are too many for a matrix here)",
            ("class", "predicted", "points"),
            [(names[i], names[j], str(count)) for count, i, j in sorted(pairs, reverse=True)[:WIDEST]],
        )
    largest = matrix.sum(axis=1).max() / matrix.sum()
    say(
        f"cross-validated accuracy {percent(float(np.mean(accuracies)))} ({percent(min(accuracies))} to "
        f"{percent(max(accuracies))} over the folds); the largest class is {percent(largest)} of the points"
    )
    if args.C != AUTO and args.model not in WITHOUT_C:
        say(f"C = {args.C:g}")
    elif any(chosen):
        what = {"auto": "model", "kernel": "kernel"}.get(args.model, "C")
        say(f"{what} chosen inside each fold: {', '.join(chosen)}")


def _write(path: Path, points: Points, predicted, sure, fold_of) -> None:
    """Write a line for each point: its id if there is one, label, prediction, probability of that, and fold."""
    columns = {
        "label": points.labels.tolist(),
        "predicted": predicted.tolist(),
        "probability": np.round(sure, 9).tolist(),
        "fold": fold_of.tolist(),
    }
    if points.ids is not None:
        columns = {points.id_name: points.ids, **columns}
    write_columns(path, columns, columns.values())
