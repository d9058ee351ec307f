"""`hypermargin accuracy`: all models and their peers in nested cross-validation, on the paper's data and taxonomies."""

import argparse
from collections import Counter
from pathlib import Path

from hypermargin.cli.console import CommandError, say, show_table, warn
from hypermargin.cli.options import ARGUMENTS, points_of
from hypermargin_studies.commands import HELP, add_study_arguments, chosen, names_in, run_or_report, warn_of

EXAMPLES = HELP["accuracy"]
QUICK = ("karate", "polbooks", "olsson", "taxonomy_800_0.05_seed200")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="a file of labelled points: whether the geometry helps there, no more")
    add_study_arguments(parser, "accuracy", 1, 3600.0, ", %(default)g by default")
    parser.add_argument("--data", metavar="A,B,...", help="the data sets (default: all embeddings, and taxonomies)")
    parser.add_argument("--models", metavar="A;B;...", help="contestants, separated by semicolons (default: all)")
    parser.add_argument("--repetitions", type=int, metavar="N", help="of the outer folds (more for small data)")
    parser.add_argument("--folds", type=int, metavar="N", help="of the five outer ones (one of large data)")
    parser.add_argument("--not-moved", action="store_true", help="leave out the same data after a random isometry")
    parser.add_argument("--quick", action="store_true", help="a first look: small data, two folds")
    parser.add_argument("--list", action="store_true", help="list data sets and contestants")
    own = parser.add_argument_group("of a file")
    for name, settings in (ARGUMENTS["data"] | ARGUMENTS["geometry"]).items():
        if name != "data":
            own.add_argument(name, **settings)
    own.add_argument("--scoring", metavar="NAME", help="the score, by scikit-learn's name (accuracy)")


def run(args: argparse.Namespace) -> None:
    from hypermargin_studies.accuracy.cells import DEFAULT_DATASETS, OURS, OUTER_FOLDS, PEERS, load, plan
    from hypermargin_studies.accuracy.report import PICTURE, make_report, rank_rows, scores, write_results_page
    from hypermargin_studies.engine.cells import FINISHED, NOT_RUN, Cache, describe_environment

    if args.file is not None:
        _judge(args)
        return
    if args.list:
        say(f"data: {', '.join(DEFAULT_DATASETS)}")
        say(f"ours: {'; '.join(OURS)}")
        say(f"peers: {'; '.join(PEERS)}")
        return
    counts = (args.repetitions, args.folds, args.jobs, args.time_limit)
    if not all(count is None or count > 0 for count in counts):
        raise CommandError("--repetitions, --folds, --jobs and --time-limit must be positive")
    if args.folds is not None and args.folds > OUTER_FOLDS:
        raise CommandError(f"there are {OUTER_FOLDS} outer folds, so --folds is at most that")
    datasets = names_in(args.data, "--data names nothing") or (QUICK if args.quick else DEFAULT_DATASETS)
    for name in datasets:
        load(name)  # an error that lists what there is
    cells = plan(
        datasets,
        _contestants(args.models),
        with_moved=not args.not_moved,
        repetitions=1 if args.quick and args.repetitions is None else args.repetitions,
        folds=2 if args.quick and args.folds is None else args.folds,
    )
    folder = Path(args.output)
    cache = Cache(folder / "cells")
    everything = run_or_report(args, cells, cache, args.time_limit)
    for cell, record in everything:
        if record["state"] not in (FINISHED, NOT_RUN):
            warn(f"{cell.in_words()}: {record['reason']}")
    results = {cell: record for cell, record in everything if record["state"] == FINISHED}
    if not results:
        raise CommandError(f"nothing was measured yet in {cache.folder}")
    facts = {
        "cells": f"{len(results)} of {len(cells)} measured",
        "outer folds": _folds_in_words(cells),
        "measured at commit": ", ".join(sorted({str(record.get("commit")) for record in results.values()})),
        **describe_environment(),
    }
    report = make_report(results, facts, folder / PICTURE)
    page = report.write(folder, "accuracy")
    warn_of(report)
    metrics, ranks = rank_rows(results)
    sets = len(scores(results, metrics[0]).complete.datasets)
    show_table(f"Mean ranks over {sets} data sets (1 is the best)", ("contestant", *metrics), ranks)
    for sentence in report.findings:
        say(sentence)
    if args.quick:
        say("This was a quick run: small data and two folds are no result.")
    if args.results_page is not None:
        path = Path(args.results_page)
        say(f"wrote {write_results_page(make_report(results, facts, path.parent / 'images' / PICTURE), path)}")
    say(f"wrote {page} and {page.with_suffix('.md')}")


def _judge(args: argparse.Namespace) -> None:
    """Say whether the geometry helps on the points of a file."""
    from hypermargin.estimators import HyperbolicClassifierCV

    args.data = args.file
    points = points_of(args, labelled=True)
    model = HyperbolicClassifierCV(
        scoring=args.scoring, geometry=args.geometry, curvature=args.curvature, refit=False, n_jobs=args.jobs
    ).fit(points.X, points.labels)
    verdict = model.verdict_
    rows = [
        (each.name, "hyperbolic" if each.is_hyperbolic else "Euclidean", f"{each.score:.3f}", f"{each.moved:.3f}")
        for each in sorted(verdict.contestants, key=lambda each: -each.score)
    ]
    show_table("On the same folds", ("classifier", "geometry", verdict.metric, "after an isometry"), rows)
    say(str(verdict))
    say(f"The classifier that chooses among all families {model.explanation_}")


def _contestants(text: str | None) -> list[str]:
    """Peers that are installed, and all of ours together where one of them is asked for."""
    from hypermargin_studies.accuracy.cells import OURS, PEERS, TOGETHER

    wanted = chosen(text, (*OURS, *PEERS), "contestant", "nobody is left to measure", ";")
    found = [TOGETHER] * any(name in OURS for name in wanted)
    for name in (name for name in wanted if name in PEERS):
        if PEERS[name].is_installed:
            found.append(name)
        else:
            say(f"{name} is left out: the package {PEERS[name].package} is not installed")
    if not found:
        raise CommandError("nobody is left to measure")
    return found


def _folds_in_words(cells) -> str:
    """How many outer folds of each data set as it lies are in the plan: "5 each; 25 of karate"."""
    counts = Counter(name for name, _, _ in {(cell.dataset, cell.repetition, cell.fold) for cell in cells})
    usual = Counter(counts.values()).most_common(1)[0][0]
    others = (f"{count} of {name}" for name, count in sorted(counts.items()) if count != usual)
    return "; ".join([f"{usual} each", *others])
