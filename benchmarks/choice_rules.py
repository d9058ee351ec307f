"""Which rule should `HyperbolicClassifierCV` choose by? Measured on data that nothing is judged on.

A rule sees the answers of the best candidate of each family to the folds of the training samples; the classifier that
it makes is tested on others, beside each family alone and peers of scikit-learn. Writes docs/benchmarks/choice.md.

    python benchmarks/choice_rules.py [--seeds 10 11] [--fresh 300 301] [--jobs 1] [--cache FOLDER] [--output FILE]

Answers take about a quarter of a minute for each data set; with a cache they are computed once, and further rules are
measured in seconds. Nothing is chosen on fresh seeds.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Memory, Parallel, delayed
from scipy.stats import rankdata

from choice_answers import PEERS, Material, material
from choice_data import KINDS
from ensemble_selection import ensemble_weights
from hypermargin.arrays import Array
from hypermargin.estimators.auto.choosing import (
    best_blend,
    best_exponent,
    blended,
    sharpened,
    within_standard_errors,
)
from hypermargin.estimators.scoring import MOST_BEHIND, is_near
from hypermargin_studies.engine.cells import describe_environment

#: Weights and exponents of the members, in the order of their scores.
Mixture = tuple[Array, Array]


def in_use(given: Material) -> Mixture:
    blend = best_blend(given.members, given.folds, given.scorer)
    if blend is None:
        return first(given, 1)
    places = [given.members.index(each) for each in blend.members]
    weights, exponents = np.zeros(len(given.members)), np.ones(len(given.members))
    weights[places], exponents[places] = 1.0 / len(places), blend.exponents
    return weights, exponents


def first(given: Material, number: int) -> Mixture:
    """The mean of the best ones."""
    taken = np.arange(len(given.members)) < number
    return taken / taken.sum(), np.ones(taken.size)


def within_a_standard_error(given: Material) -> Mixture:
    """The mean of those that the folds cannot tell from the best."""
    near = np.array([is_near(each.scores, given.members[0].scores, 1.0) for each in given.members], dtype=float)
    return near / near.sum(), np.ones(near.size)


def sharp(given: Material) -> tuple[Array, Array]:
    """The probabilities of the true classes, shape (n_members, n_answers), by sharpened members; and the exponents."""
    columns = given.scorer.columns(given.folds)
    answers = [np.concatenate([own.probability for own in each.answers]) for each in given.members]
    exponents = np.array([best_exponent(own, columns, None) for own in answers])
    return np.stack([truth_of(own, t, columns) for own, t in zip(answers, exponents.tolist(), strict=True)]), exponents


def plain(given: Material) -> tuple[Array, Array]:
    """The same of members as they are."""
    columns = given.scorer.columns(given.folds)
    answers = [np.concatenate([own.probability for own in each.answers]) for each in given.members]
    return np.stack([truth_of(own, 1.0, columns) for own in answers]), np.ones(len(answers))


def truth_of(probability: Array, exponent: float, columns: np.ndarray) -> Array:
    return sharpened(probability, exponent)[np.arange(columns.size), columns]


def selected(given: Material, answers: Callable = plain, pulled: float = 0.0) -> Mixture:
    """Ensemble selection by log loss, pulled towards equal weights or not."""
    truth, exponents = answers(given)
    return pulled / len(truth) + (1.0 - pulled) * ensemble_weights(truth), exponents


def near_in_log_loss(given: Material, answers: Callable = plain) -> Mixture:
    """The mean of those whose log loss is not clearly behind the least."""
    truth, exponents = answers(given)
    repeats = truth.shape[1] / np.unique(np.concatenate(given.folds)).size
    near = within_standard_errors(truth, None, repeats).astype(float)
    return near / near.sum(), exponents


def guarded(rule: Callable[[Material], Mixture], errors: float) -> Callable[[Material], Mixture]:
    """A rule that is not followed where its blend is so many standard errors behind the best candidate."""

    def chosen(given: Material) -> Mixture:
        weights, exponents = rule(given)
        scores = given.scorer.scores(blended([each.answers for each in given.members], weights, exponents), given.folds)
        return (weights, exponents) if is_near(scores, given.members[0].scores, errors) else first(given, 1)

    return chosen


RULES: dict[str, Callable[[Material], Mixture]] = {
    "sharpened, equal blend of those near in log loss, unless clearly behind the best score (in use)": in_use,
    "sharpened, equal blend of those near in log loss": lambda given: near_in_log_loss(given, sharp),
    "sharpened, equal blend of all families": lambda given: selected(given, sharp, 1.0),
    "sharpened, ensemble selection": lambda given: selected(given, sharp),
    "sharpened, ensemble selection, half way to equal weights": lambda given: selected(given, sharp, 0.5),
    "ensemble selection, unless clearly behind the best score (in use before)": guarded(selected, MOST_BEHIND),
    "ensemble selection": selected,
    "equal blend of those near in log loss": near_in_log_loss,
    "equal blend of all families": lambda given: first(given, len(given.members)),
    "equal blend of the three best families": lambda given: first(given, 3),
    "equal blend of families within a standard error": within_a_standard_error,
    "the best candidate": lambda given: first(given, 1),
}


def measure(given: Material) -> dict[str, float]:
    """The test score of every rule, family and peer on one data set."""
    found = {}
    for rule, choose in RULES.items():
        weights, exponents = choose(given)
        if weights.max() == 1.0:  # a classifier alone ranks by its decision function
            answers = given.tested[int(np.argmax(weights))]
        else:
            (answers,) = blended([[own] for own in given.tested], weights, exponents)
        found[rule] = given.scorer.score(answers, given.test)
    for each, answers in zip(given.members, given.tested, strict=True):
        found[each.family.name] = given.scorer.score(answers, given.test)
    return found | given.peers


def section(results: dict[str, dict[str, float]]) -> list[str]:
    """A table: a row for every rule, family and peer, and columns for the kinds of data."""
    others = [name for name in next(iter(results.values())) if name not in RULES]
    lines = [
        "| rule, family or peer | mean rank | behind the best peer, mean | worst | by more than 0.01 | "
        + " | ".join(f"mean score, {kind}" for kind in KINDS)
        + " |",
        "|---|" + "---:|" * (4 + len(KINDS)),
    ]
    for name in [*RULES, *others]:
        rivals = [other for other in others if other != name]
        ranks = [rankdata([-found[name], *(-found[r] for r in rivals)])[0] for found in results.values()]
        behind = [max(found[peer] for peer in PEERS) - found[name] for found in results.values()]
        late = f"{sum(b > 0.01 for b in behind)} of {len(behind)}"
        cells = [f"{np.mean(ranks):.2f}", f"{np.mean(behind):+.4f}", f"{max(behind):+.3f}", late]
        for kind in KINDS:
            cells.append(f"{np.mean([found[name] for own, found in results.items() if own.startswith(kind)]):.3f}")
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="docs/benchmarks/choice.md")
    parser.add_argument("--seeds", nargs="*", type=int, default=[10, 11, 12], help="rules were chosen on")
    parser.add_argument("--fresh", nargs="*", type=int, default=[300, 301, 302], help="of a look afterwards")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", help="a folder that keeps the answers")
    args = parser.parse_args()
    facts = describe_environment()
    answers = Memory(args.cache, verbose=0).cache(material)
    groups = [[f"{kind}-{seed}" for seed in seeds for kind in KINDS] for seeds in (args.seeds, args.fresh)]
    everything = [name for group in groups for name in group]
    given = dict(zip(everything, Parallel(args.jobs)(delayed(answers)(name) for name in everything), strict=True))
    sizes = [own.n_train for own in given.values()]
    lines = [
        "# Rules of the choice\n",
        f"Made by `python benchmarks/choice_rules.py`, {facts['date']}, commit {facts['commit']}. Data that nothing is "
        f"judged on: {min(sizes)} to {max(sizes)} training samples of embedded graphs, mixtures (accuracy) and "
        "taxonomies (average precision), and hundreds or thousands of others to test on. A rank is that among all "
        "families and peers. The best peer is the best on the test samples.\n",
    ]
    for title, names in zip(("Seeds that the rule was chosen on", "Fresh seeds"), groups, strict=True):
        if names:
            lines += [f"## {title}\n", *section({name: measure(given[name]) for name in names})]
    Path(args.output).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
