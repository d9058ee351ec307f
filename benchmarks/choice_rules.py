"""Which rule should `HyperbolicClassifierCV` choose by? Measured on data that nothing is judged on.

A rule sees the answers of all candidates to folds of few training samples; the classifier that it makes is tested on
many others, beside each family alone and peers of scikit-learn. Writes docs/benchmarks/choice.md.

    python benchmarks/choice_rules.py [--seeds 0 1] [--fresh 100 101] [--jobs 1] [--output FILE]

The rule was chosen on the seeds below 10; fresh seeds are for a look afterwards.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.metrics import get_scorer

from choice_data import KINDS, task
from hypermargin.accuracy.contestants import features_for, fitted_peer
from hypermargin.arrays import Array
from hypermargin.estimators import HyperbolicClassifierCV
from hypermargin.estimators.choice.answers import Judge
from hypermargin.estimators.choice.blend import blended
from hypermargin.estimators.choice.choosing import MOST_BEHIND, best_blend, best_of_each_family
from hypermargin.estimators.choice.ensemble import ensemble_weights
from hypermargin.estimators.choice.families import Samples
from hypermargin.estimators.choice.search import Search, Tried
from hypermargin.estimators.choice.table import is_near
from hypermargin.workers.environment import describe_environment

PEERS = (
    "linear SVM",
    "RBF SVM, tangent",
    "logistic regression",
    "neighbours, disk",
    "random forest, tangent",
    "extra trees, tangent",
)
#: Members and their weights.
Mixture = tuple[list[Tried], Array]
Tests = Sequence[np.ndarray]


def equal(members: Sequence[Tried]) -> Mixture:
    return list(members), np.full(len(members), 1.0 / len(members))


def best(members: list[Tried], tests: Tests, judge: Judge) -> Mixture:
    return equal(members[:1])


def in_use(members: list[Tried], tests: Tests, judge: Judge) -> Mixture:
    blend = best_blend(members, tests, judge)
    return equal(members[:1]) if blend is None else (blend.members, blend.weights)


def within_a_standard_error(members: list[Tried], tests: Tests, judge: Judge) -> Mixture:
    """The rule of old: a blend of what the folds cannot tell from the best, unless they can tell the blend from it."""
    near: list[Tried] = []
    for each in members:
        is_double = any(np.allclose(each.scores, other.scores, equal_nan=True) for other in near)
        if is_near(each.scores, members[0].scores, 1.0) and not is_double:
            near.append(each)
    scores = judge.scores(blended([each.answers for each in near], np.ones(len(near))), tests)
    return equal(near if is_near(scores, members[0].scores, 1.0) else members[:1])


def by_log_loss(members: list[Tried], tests: Tests, judge: Judge, errors: float = np.inf) -> Mixture:
    weights = ensemble_weights(np.stack([judge.truth(each.answers, tests) for each in members]), None)
    scores = judge.scores(blended([each.answers for each in members], weights), tests)
    if np.isfinite(errors) and not is_near(scores, members[0].scores, errors):
        return equal(members[:1])
    return members, weights


def by_log_loss_within_one(members: list[Tried], tests: Tests, judge: Judge) -> Mixture:
    return by_log_loss(members, tests, judge, 1.0)


def largest_good_blend(members: list[Tried], tests: Tests, judge: Judge) -> Mixture:
    """Of the best, the best two, the best three and so on the largest within a quarter of a standard error."""
    blends = [members[:number] for number in range(1, len(members) + 1)]
    scores = [judge.scores(blended([m.answers for m in own], np.ones(len(own))), tests) for own in blends]
    highest = int(np.argmax([np.nanmean(own).round(12) for own in scores]))
    good = [place for place in range(highest, len(blends)) if is_near(scores[place], scores[highest], 0.25)]
    return equal(blends[good[-1]])


RULES: dict[str, Callable[[list[Tried], Tests, Judge], Mixture]] = {
    f"ensemble selection by log loss, unless {MOST_BEHIND:g} standard errors behind the best score (in use)": in_use,
    "ensemble selection by log loss": by_log_loss,
    "the same, unless one standard error behind": by_log_loss_within_one,
    "equal blend of families within a standard error (in use before)": within_a_standard_error,
    "the largest equal blend within a quarter of a standard error": largest_good_blend,
    "equal blend of the two best families": lambda members, tests, judge: equal(members[:2]),
    "equal blend of the three best families": lambda members, tests, judge: equal(members[:3]),
    "equal blend of all families": lambda members, tests, judge: equal(members),
    "the best candidate": best,
}


def measure(name: str) -> dict[str, float]:
    """The test score of every rule, family and peer on one data set."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    data = task(name)
    scorer = None if data.scoring == "accuracy" else get_scorer(data.scoring)
    judge = Judge(scorer, data.X, data.y, np.unique(data.y), None)
    samples = Samples(data.X, data.y, None)
    chooser = HyperbolicClassifierCV(scoring=data.scoring)
    own = samples.take(data.train)
    inner = [(data.train[train], data.train[test]) for train, test in chooser._folds(own, 0)]
    wanted, _ = chooser._wanted(own, 0)
    tried = Search(samples, judge, 1, False, 0).run(wanted, [*inner, (data.train, data.test)])
    tested = {id(each): each.answers[-1] for each in tried}
    for each in tried:  # the last fold is the test, which no rule may see
        each.answers, each.scores = each.answers[:-1], each.scores[:-1]
    members = best_of_each_family(tried)
    found = {}
    for rule, choose in RULES.items():
        chosen, weights = choose(members, [test for _, test in inner], judge)
        (answers,) = blended([[tested[id(each)]] for each in chosen], weights)
        found[rule] = judge.score(answers, data.test)
    for each in members:
        found[each.family.name] = judge.score(tested[id(each)], data.test)
    for peer in PEERS:
        features = features_for(peer, data.X)
        model, _ = fitted_peer(peer, features[data.train], data.y[data.train], data.scoring)
        found[peer] = float(get_scorer(data.scoring)(model, features[data.test], data.y[data.test]))
    print(name, len(data.train), judge.classes.size, f"{time.process_time() - began:.0f} s", flush=True)
    return found


def section(results: dict[str, dict[str, float]]) -> list[str]:
    """A table: a row for every rule, family and peer."""
    others = [name for name in next(iter(results.values())) if name not in RULES]
    peers = [name for name in others if name in PEERS]
    rows = []
    for name in [*RULES, *others]:
        rivals = [other for other in others if other != name]
        ranks = [rankdata([-found[name], *(-found[r] for r in rivals)])[0] for found in results.values()]
        behind = [max(found[peer] for peer in peers) - found[name] for found in results.values()]
        rows.append((float(np.mean(ranks)), name, behind))
    lines = [
        "| rule, family or peer | mean rank | behind the best peer, mean | worst | by more than 0.01 | "
        + " | ".join(results)
        + " |",
        "|---|" + "---:|" * (4 + len(results)),
    ]
    for rank, name, behind in rows:
        cells = [f"{rank:.2f}", f"{np.mean(behind):+.4f}", f"{max(behind):+.3f}", str(sum(b > 0.01 for b in behind))]
        values = [f"{found[name]:.3f}" for found in results.values()]
        lines.append("| " + " | ".join([name, *cells, *values]) + " |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="docs/benchmarks/choice.md")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1], help="of the data that rules were chosen on")
    parser.add_argument("--fresh", nargs="*", type=int, default=[100, 101], help="seeds of a look afterwards")
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    facts = describe_environment()
    names = {
        kind: [f"{each}-{seed}" for seed in kind for each in KINDS] for kind in map(tuple, (args.seeds, args.fresh))
    }
    everything = [name for group in names.values() for name in group]
    measured = dict(zip(everything, Parallel(args.jobs)(delayed(measure)(name) for name in everything), strict=True))
    lines = [
        "# Rules of the choice\n",
        f"Made by `python benchmarks/choice_rules.py`, {facts['date']}, commit {facts['commit']}. Data that nothing is "
        "judged on: 34 to 600 training samples of embedded graphs, mixtures (accuracy) and taxonomies (average "
        "precision), and hundreds of others to test on. A rank is that among all families and peers. The best peer is "
        "the best on the test samples.\n",
    ]
    for title, group in zip(("Seeds that the rule was chosen on", "Fresh seeds"), names.values(), strict=True):
        if group:
            lines += [f"## {title}\n", *section({name: measured[name] for name in group})]
    Path(args.output).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
