"""The classifier that the arguments of a command describe, the options that it takes, and folds."""

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from hypermargin.cli.console import CommandError, warn
from hypermargin.cli.options import AUTO, solver_options, split_list
from hypermargin.cli.reading import Points
from hypermargin.estimators import HyperbolicClassifierCV, HyperbolicKernelSVC, HyperbolicSVC, HyperbolicSVCCV
from hypermargin.kernels import KERNELS
from hypermargin.solvers import available_methods, get_solver

#: The models that each option is for, and the value of an option that was not given.
OPTIONS: dict[str, tuple[tuple[str, ...], Any]] = {
    "kernel": (("kernel",), None),
    "landmarks": (("kernel",), None),
    "cache": (("kernel",), None),
    "solver": (("geodesic",), "exact"),
    "option": (("geodesic",), []),
    "refine": (("geodesic",), False),
    "fit_intercept": (("geodesic",), False),
    "allow_timelike": (("geodesic",), False),
    "uncertainty": (("geodesic", "curve", "kernel"), None),  # a kernel has its own sentence, in `make_classifier`
    "loss": (("geodesic", "curve", "kernel"), None),
    "certificates": (("geodesic", "curve", "kernel"), None),
    "multi_class": (("geodesic", "curve", "kernel"), "ovo"),
    "scoring": (("auto",), None),
    "pos_label": (("auto",), None),
    "candidates": (("auto",), None),
}


def check_options(args: argparse.Namespace) -> None:
    """Refuse options that the model of ``--model`` does not take."""
    given = vars(args)
    for name, (models, default) in OPTIONS.items():
        if args.model in models or given.get(name, default) == default:
            continue
        option = f"--{name.replace('_', '-')}"
        if args.model == "auto":
            raise CommandError(f"{option} is not for --model auto, which chooses among models of their own settings")
        raise CommandError(f"{option} is for --model {models[0]}")
    if args.model == "auto":
        if args.C not in (AUTO, 1.0):
            raise CommandError("-C is not for --model auto, which chooses it too")
        if args.tol != 1e-6:
            raise CommandError("--tol is not for --model auto")


def classifier_of(args: argparse.Namespace, **further: Any) -> HyperbolicSVC | HyperbolicKernelSVC:
    """The classifier of ``--model`` and its options; `further` are parameters of it."""
    further |= {"multi_class": args.multi_class, "n_jobs": args.jobs}
    if args.model == "geodesic":
        flags = ("fit_intercept", "allow_timelike", "refine")  # of `fit` alone
        further |= {name: getattr(args, name) for name in flags if hasattr(args, name)}
        return make_classifier(args, args.solver, solver_options=solver_options(args.option) or None, **further)
    if args.model == "curve":
        return make_classifier(args, "curve", **further)
    setting = dict(args.kernel or {"kernel": "heat"})
    if args.cache is not None:
        further["cache_size"] = args.cache
    return make_classifier(args, setting.pop("kernel"), n_landmarks=args.landmarks, **setting, **further)


def make_classifier(args: argparse.Namespace, solver: str, **further: Any) -> HyperbolicSVC | HyperbolicKernelSVC:
    """The classifier that the arguments for geometry and problem describe; `further` are parameters of it.

    `solver` is a method for geodesic boundaries, "curve", or the name of a kernel. With ``-C auto`` it is a classifier
    that chooses C in ``--folds`` folds.
    """
    problem: dict[str, Any] = dict(
        geometry=args.geometry,
        curvature=args.curvature,
        class_weight=args.class_weight,
        tol=args.tol,
        random_state=args.seed,
    )
    if solver in KERNELS:
        if args.uncertainty is not None:
            raise CommandError("--uncertainty is for geodesic boundaries; a kernel has no robust form here")
        if args.C == AUTO:
            raise CommandError(f"-C {AUTO} is for geodesic boundaries and curves; give a kernel its C")
        return HyperbolicKernelSVC(kernel=solver, C=args.C, **problem, **further)
    boundary: dict[str, Any] = {"boundary": "curve"} if solver == "curve" else {"solver": solver}
    described = {"uncertainty": args.uncertainty, "loss": args.loss, **boundary, **problem, **further}
    if args.C == AUTO:
        return HyperbolicSVCCV(cv=folds(args.folds, args.seed), **described)
    return HyperbolicSVC(C=args.C, **described)


def make_chooser(args: argparse.Namespace, points: Points, cv: Any, *, verbose: bool) -> HyperbolicClassifierCV:
    """The classifier of ``--model auto``, which chooses among models in the folds `cv`."""
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


def chosen_parameters(parameters: dict[str, Any]) -> str:
    """The parameters that ``--model auto`` chose, in words; of a blend the families in it."""
    if "members" in parameters:
        return " + ".join(member["family"] for member in parameters["members"])
    shown = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in parameters.items()}
    return " ".join(f"{name}={value}" for name, value in shown.items())


# -- lists of methods --------------------------------------------------------------------------------------------------


def chosen_methods(text: str | None) -> tuple[str, ...]:
    """The methods in a comma-separated list, or all; an unknown name is an error that lists them.

    Besides the methods for geodesic boundaries there are "curve" and the kernels.
    """
    known = (*available_methods(), "curve", *KERNELS)
    if text is None:
        return known
    names = split_list(text)
    if not names:
        raise CommandError("--methods names no method")
    for name in names:
        if name not in known:
            raise CommandError(f"unknown method {name!r}; the methods are {', '.join(known)}")
        if name in available_methods():
            get_solver(name)  # an error if a library that it needs is missing
    return names


def methods_with_losses(text: str, loss: str | None) -> list[tuple[str, str, str | None]]:
    """``exact,exact:asinh`` as (label, method, loss); `loss` is the loss of methods without one of their own."""
    found = []
    for label in split_list(text):
        method, colon, own = label.partition(":")
        chosen_methods(method)
        found.append((label, method, own if colon else loss))
    if not found:
        raise CommandError("--methods names no method")
    return found


# -- folds -------------------------------------------------------------------------------------------------------------


def folds(count: int, seed: int) -> StratifiedKFold:
    """Stratified folds in random order."""
    return StratifiedKFold(count, shuffle=True, random_state=seed)


def check_folds(points: Points, count: int) -> None:
    """Refuse more folds than the largest class has samples, and warn of classes smaller than the number of folds."""
    if count < 2:
        raise CommandError(f"--folds must be at least 2, got {count}")
    classes, sizes = np.unique(points.labels, return_counts=True)
    if sizes.max() < count:
        raise CommandError(
            f"the largest class has {sizes.max()} samples, fewer than the {count} folds: "
            f"say --folds {max(2, sizes.max())}"
        )
    small = [f"{name} ({size})" for name, size in zip(classes, sizes, strict=True) if size < count]
    if small:
        warn(
            f"{len(small)} of {len(classes)} classes have fewer samples than the {count} folds, so that some folds "
            f"test none of them: {', '.join(small[:8])}{', ...' if len(small) > 8 else ''}"
        )


@contextmanager
def quiet_folds() -> Iterator[None]:
    """A context without scikit-learn's warning about small classes, which `check_folds` has given already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        yield
