"""`--model auto` of `hypermargin fit` and `cv`: its options, what is fitted, and what is said of the choice."""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from hypermargin.cli.console import CommandError, say, show_table
from hypermargin.cli.options import AUTO, check_folds, folds, quiet_folds
from hypermargin.cli.reading import Points
from hypermargin.estimators import HyperbolicClassifierCV, save_model
from hypermargin.progress import Progress

#: Options that say how one model is fitted.
OF_ONE_MODEL = (
    "kernel",
    "landmarks",
    "cache",
    "solver",
    "option",
    "refine",
    "fit_intercept",
    "allow_timelike",
    "uncertainty",
    "loss",
    "certificates",
    "multi_class",
)


def add_auto_arguments(parser: argparse._ActionsContainer) -> None:
    """What only a choice among models takes."""
    parser.add_argument(
        "--scoring", metavar="NAME", help="with --model auto: what decides, as scikit-learn names it (accuracy)"
    )
    parser.add_argument(
        "--pos-label", metavar="LABEL", help="with --scoring: the positive class of two (the rarer one)"
    )
    parser.add_argument(
        "--candidates",
        metavar="A,B,...",
        help="with --model auto: families to choose from: geodesic, curve, neighbours, kernel, forest, blend (all)",
    )


def refuse_auto_arguments(args: argparse.Namespace) -> None:
    """Options for a choice among models are an error for one model."""
    for name in ("scoring", "pos_label", "candidates"):
        if getattr(args, name) is not None:
            name = name.replace("_", "-")
            raise CommandError(f"--{name} is for --model auto")


def chooser(args: argparse.Namespace, points: Points, cv: Any, *, verbose: bool) -> HyperbolicClassifierCV:
    """The classifier that chooses, as the arguments describe it; options of one model or one solver are an error."""
    _refuse_others(args)
    names = {str(label): label for label in np.unique(points.labels).tolist()}
    return HyperbolicClassifierCV(
        candidates=None if args.candidates is None else [name.strip() for name in args.candidates.split(",")],
        scoring=args.scoring,
        cv=cv,
        geometry=args.geometry,
        curvature=args.curvature,
        class_weight=args.class_weight,
        n_jobs=args.jobs,
        random_state=args.seed,
        verbose=int(verbose),
        pos_label=names.get(args.pos_label, args.pos_label),
    )


def fit_auto(args: argparse.Namespace, points: Points, output: Path) -> None:
    """Choose a model for the points, write it, and say what was chosen and from what."""
    if args.folds is not None:
        check_folds(points, args.folds)
    cv = None if args.folds is None else folds(args.folds, args.seed)
    model = chooser(args, points, cv, verbose=sys.stderr.isatty())
    X, y = points.X, points.labels
    with quiet_folds(), nullcontext() if sys.stderr.isatty() else Progress("fitting", None):
        model.fit(X, y)
    if points.names is not None:
        model.feature_names_in_ = np.array(points.names, dtype=object)
    save_model(model, output, certificates=not args.no_certificates)
    metric = args.scoring or "accuracy"
    rows = _rows(model, everything=args.details)
    title = "All candidates" if args.details else "The best of each family"
    show_table(title, ("family", "parameters", metric, "± over folds", "rank", "seconds"), rows)
    say(f"{len(X)} points, {len(model.classes_)} classes: {model.explanation_}")
    say(f"The {metric} of the winner is a little too good, because it was chosen by it.")
    say(f"wrote {output}")


def _rows(model: HyperbolicClassifierCV, *, everything: bool) -> list[tuple[str, ...]]:
    """Candidates from the best to the worst, or the best of each family."""
    table = model.cv_results_
    order = np.argsort(table["rank_test_score"], kind="stable")
    shown: list[int] = []
    for i in order.tolist():
        if everything or table["family"][i] not in {table["family"][j] for j in shown}:
            shown.append(i)
    return [
        (
            table["family"][i],
            parameters_in_words(table["params"][i]),
            _number(table["mean_test_score"][i]),
            _number(table["std_test_score"][i]),
            str(table["rank_test_score"][i]) if np.isfinite(table["mean_test_score"][i]) else "screened out",
            f"{table['seconds'][i]:.1f}",
        )
        for i in shown
    ]


def parameters_in_words(parameters: dict[str, Any]) -> str:
    """Parameters of a row; of a blend its families."""
    if "members" in parameters:
        return " + ".join(member["family"] for member in parameters["members"])
    shown = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in parameters.items()}
    return " ".join(f"{name}={value}" for name, value in shown.items())


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "–"


def _refuse_others(args: argparse.Namespace) -> None:
    """Options of one model or of one solver are an error where the model is chosen."""
    known = vars(args)  # some are of `fit` alone
    usual = {"solver": "exact", "multi_class": "ovo"}
    for name in OF_ONE_MODEL:
        if known.get(name) and known[name] != usual.get(name):
            name = name.replace("_", "-")
            raise CommandError(f"--{name} is not for --model auto, which chooses among models of their own settings")
    if args.C not in (AUTO, 1.0):
        raise CommandError("-C is not for --model auto, which chooses it too")
    if args.tol != 1e-6:
        raise CommandError("--tol is not for --model auto")
