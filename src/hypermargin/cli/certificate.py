"""`hypermargin certificate`: the proofs of a model as files, what they state, and whether they hold for your data."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hypermargin.certificates import Certificate, CertificateError, Statement
from hypermargin.certificates.core.statement import Problem
from hypermargin.certificates.identity import CURVES
from hypermargin.cli.console import CommandError, make_folder, say
from hypermargin.cli.options import add_shared_arguments, drop_names, points_of
from hypermargin.estimators import (
    HyperbolicForestClassifier,
    HyperbolicKernelSVC,
    HyperbolicKNeighborsClassifier,
    HyperbolicSVC,
    load_model,
)
from hypermargin.estimators.multiclass import make_scheme
from hypermargin.kernels.base import kernel_from_text
from hypermargin.solvers.base import relative_gap

#: Classifiers whose answers come with proofs.
Classifier = HyperbolicSVC | HyperbolicKernelSVC
#: Names of the other parts of a blend.
KINDS: dict[type, str] = {
    HyperbolicKernelSVC: "kernel",
    HyperbolicKNeighborsClassifier: "neighbours",
    HyperbolicForestClassifier: "forest",
}

EXAMPLES = """examples:
  hypermargin certificate save model.npz --output proofs
      a file for each binary problem of the model: proofs/problem-1.json, ...; of a blend, a folder for each part
  hypermargin certificate show proofs/problem-1.json
      which problem it is about, what it proves, who wrote it
  hypermargin certificate check proofs/problem-1.json points.csv
      recompute the bound, and the objective of the answer in the file, from the data, by code that shares nothing with
      the solvers; C is read from the certificate, and which classes of points.csv it is about is found out
  hypermargin certificate check proofs/problem-1.json points.csv --model model.npz
      with geometry, weights and uncertainty set of the model
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    save = actions.add_parser("save", help="write the certificates of a model to files")
    save.add_argument("model", help="a model file that `hypermargin fit` wrote")
    save.add_argument("--output", "-o", required=True, metavar="FOLDER", help="the folder to write to")
    show = actions.add_parser("show", help="say in words what certificates state")
    show.add_argument("files", nargs="+", metavar="FILE", help="a certificate file")
    check = actions.add_parser("check", help="check a certificate against a file of points")
    check.add_argument("file", metavar="FILE", help="a certificate file")
    add_shared_arguments(check, "data", "unlabelled")
    check.add_argument("--model", metavar="MODEL", help="take what describes the problem from this model file")
    check.add_argument("--by-arb", action="store_true", help="ask the reference checker, in exact arithmetic: slower")
    check.add_argument(
        "--another-problem", action="store_true", help="say what it proves for this data, whatever it states"
    )
    described = check.add_argument_group("without --model, as given to fit")
    add_shared_arguments(described, "geometry", "C as stated", "weights")
    old = check.add_argument_group("for old files, which state no problem")
    old.add_argument("--problem", type=int, metavar="K", help="the binary problem, numbered from 1 as by fit --details")
    old.add_argument("--multi-class", choices=("ovo", "ovr"), default="ovo", help="the scheme of K (%(default)s)")
    old.add_argument("--allow-timelike", action="store_true", help="spheres were allowed as boundaries")


def run(args: argparse.Namespace) -> None:
    {"save": _save, "show": _show, "check": _check}[args.action](args)


# -- save --------------------------------------------------------------------------------------------------------------


def _save(args: argparse.Namespace) -> None:
    parts = _proved_parts(load_model(args.model), args.model)
    proved = [model for _, model in parts if any(solution.certificate is not None for solution in _solutions(model))]
    if not proved:
        raise CommandError(
            f"{args.model} holds no certificates: fit by exact, which proves its answers, and without --no-certificates"
        )
    for name, model in parts:
        if len(parts) > 1:
            say(f"{name}, a part of the blend:" if model in proved else f"{name}, a part of the blend, has no proofs")
        if model in proved:
            folder = args.output if len(parts) == 1 else str(Path(args.output) / name)
            for line in write_certificates(model, folder):
                say(line)


def write_certificates(model: Classifier, folder: str) -> Iterator[str]:
    """Write a file for every certificate of a fitted model; yields a line about each."""
    refuse_other_files(folder)
    target = make_folder(folder)
    for k, (solution, sides) in enumerate(zip(model.solutions_, _sides(model), strict=True), start=1):
        if solution.certificate is None:
            yield f"problem {k}, {sides}: no certificate ({solution.status.value})"
            continue
        path = target / f"problem-{k}.json"
        solution.certificate.save(path)
        yield f"wrote {path}: {sides}, lower bound {solution.lower_bound:.10g}"


def refuse_other_files(folder: str) -> None:
    """An error if writing certificates to a folder would overwrite files that are no certificates."""
    for file in Path(folder).glob("problem-*.json"):
        with file.open("rb") as content:
            start = content.read(100)
        if start and b'"format": "hypermargin-' not in start:
            raise CommandError(f"{file} exists and is not a certificate; it is not overwritten")


def _proved_parts(model: Any, path: str) -> list[tuple[str, Any]]:
    """The model of a file, or the model that it chose, or the parts of the blend that it chose, each with a name.

    A model without binary problems has nothing to prove, which is an error.
    """
    model = getattr(model, "best_model_", model)
    members = getattr(model, "members_", [model])
    kinds = [_kind(member) for member in members]
    names = [kind if kinds.count(kind) == 1 else f"{kind}-{k}" for k, kind in enumerate(kinds, start=1)]
    if not any(_solutions(member) for member in members):
        parts = f", made of {', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else ""
        raise CommandError(f"{path} holds a {type(model).__name__}{parts}, which is not made of problems with proofs")
    return list(zip(names, members, strict=True))


def _kind(model: Any) -> str:
    """The name of a kind of classifier on the command line."""
    return model.boundary if isinstance(model, HyperbolicSVC) else KINDS.get(type(model), "part")


def _solutions(model: Any) -> list[Any]:
    """The solutions of the binary problems of a classifier; neighbours and forests have none."""
    return list(getattr(model, "solutions_", ()))


def _sides(model: Classifier, classes: np.ndarray | None = None) -> list[str]:
    """The two sides of each binary problem of a scheme, in words."""
    names = [str(name) for name in (model.classes_ if classes is None else classes)]
    code = make_scheme(model.multi_class, len(names)).code
    sides = []
    for row in code:
        ahead, behind = ([name for name, side in zip(names, row, strict=True) if side == wanted] for wanted in (1, -1))
        sides.append(f"{ahead[0]} against {behind[0] if len(behind) == 1 else 'the rest'}")
    return sides


# -- show --------------------------------------------------------------------------------------------------------------


def _show(args: argparse.Namespace) -> None:
    for k, path in enumerate(args.files):
        certificate = Certificate.load(path)
        say(f"{chr(10) if k else ''}{path}: {type(certificate).__name__}, {Path(path).stat().st_size:,} bytes")
        say(f"proves       {certificate.PROVES}")
        say(str(certificate.statement or "problem      not stated, as in old files"))
        say(f"check it     hypermargin certificate check {path} DATA")


# -- check -------------------------------------------------------------------------------------------------------------


def _check(args: argparse.Namespace) -> None:
    certificate = Certificate.load(args.file)
    sides, problem = _stated_problem(args, certificate.statement, list(_candidates(args, certificate.statement)))
    try:
        if args.another_problem:
            bound = certificate.bound_for(problem, by_arb=args.by_arb)
        else:
            bound = certificate.verify(problem, by_arb=args.by_arb)
    except CertificateError as error:
        hint = _last_bits_hint(certificate, problem)
        raise CommandError(f"{args.file} does not hold for {args.data} ({sides}): {error}{hint}") from error
    verdict = "what it proves for" if args.another_problem else "holds for"
    say(f"{args.file}: {verdict} {args.data}, {sides}, C = {problem.C:g}")
    say(f"proved now: {certificate.PROVES}")
    say(f"lower bound  {bound:.10g}")
    try:
        objective = certificate.objective_for(problem, by_arb=args.by_arb)
    except CertificateError as error:
        raise CommandError(f"the answer of {args.file} is none for {args.data} ({sides}): {error}") from error
    if objective is not None:
        say(f"objective    {objective:.10g} of the answer in the file")
        say(f"gap          {relative_gap(objective, bound):.3g}")
    elif bound < np.inf:
        say("objective    unknown: the file holds no answer, as files of old")


def _last_bits_hint(certificate: Any, problem: Problem) -> str:
    """The end of a sentence for points that differ so little from those of the proof that it holds for them as well."""
    try:
        objective, bound = certificate.objective_for(problem), certificate.bound_for(problem)
    except (CertificateError, ValueError):
        return ""
    if objective is None or not relative_gap(objective, bound) <= 1e-4:
        return ""
    return (
        ". Its bound is nearly right for these points all the same, so that they may differ in the last bits only: "
        "pandas.read_csv rounds numbers unless it has float_precision='round_trip'"
    )


def _candidates(args: argparse.Namespace, stated: Statement | None) -> Iterator[tuple[str, Problem]]:
    """The binary problems that the data file can make, and the two sides of each in words."""
    given = None if args.model is None else load_model(args.model)
    parts = [] if given is None else [part for _, part in _proved_parts(given, args.model) if _solutions(part)]
    points = points_of(args, given, labelled=True)
    X, y = points.X, points.labels
    classes = np.unique(y)
    if parts:
        models = [drop_names(model) for model in parts]
    else:
        C = args.C if args.C is not None or stated is None else stated.C
        if C is None:
            raise CommandError(f"{args.file} does not state its C; give it with -C, or the model with --model")
        schemes = (args.multi_class,) if stated is None else ("ovo", "ovr") if classes.size > 2 else ("ovo",)
        models = [_stated_model(args, stated, C, scheme) for scheme in schemes]
    for model in models:
        yield from zip(_sides(model, classes), model.binary_problems(X, y), strict=True)


def _stated_model(args: argparse.Namespace, stated: Statement | None, C: float, scheme: str) -> Classifier:
    """A classifier whose binary problems are of the kind that the certificate states."""
    shared = {name: getattr(args, name) for name in ("geometry", "curvature", "class_weight", "rim")}
    shared |= {"C": C, "multi_class": scheme}
    model = None if stated is None else stated.model
    if model is None:
        timelike = args.allow_timelike if stated is None else stated.allow_timelike
        return HyperbolicSVC(uncertainty=args.uncertainty, allow_timelike=timelike, **shared)
    if model.startswith(CURVES):
        return HyperbolicSVC(boundary="curve", uncertainty=args.uncertainty, **shared)
    kernel = kernel_from_text(model)
    if kernel is None:
        raise CommandError(f"{args.file} is about {model}: give the model with --model")
    return HyperbolicKernelSVC(kernel=kernel, **shared)


def _stated_problem(
    args: argparse.Namespace, stated: Statement | None, candidates: list[tuple[str, Problem]]
) -> tuple[str, Problem]:
    """The candidate that the certificate states, or the one most like it; if it states none, that of `--problem`."""
    number = args.problem
    if number is not None:
        if not 1 <= number <= len(candidates):
            raise CommandError(f"--problem {number}: {args.data} makes {len(candidates)} binary problem(s)")
        return candidates[number - 1]
    if stated is None:
        if len(candidates) > 1:
            raise CommandError(
                f"{args.file} does not state its problem; choose one of {len(candidates)} with --problem"
            )
        return candidates[0]

    def difference(candidate: tuple[str, Problem]) -> tuple[bool, int]:
        return candidate[1].n_samples != stated.n_samples, len(stated.differences(candidate[1]))

    return min(candidates, key=difference)
