"""Which rule should `HyperbolicClassifierCV` choose by? Measured on data that nothing is judged on.

On each data set 30 % of the samples are held out. All candidates are tried on folds of the rest, and fitted to all of
the rest to be tested on what was held out. A rule sees the folds only. Writes docs/benchmarks/choice.md.

    python benchmarks/choice_rules.py [--output FILE] [--data NAME ...]
"""

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
from sklearn.metrics import get_scorer
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split

from hypermargin.arrays import Array
from hypermargin.datasets import make_gaussian_mixture, make_taxonomy
from hypermargin.embedding import embed_graph
from hypermargin.estimators.choice.answers import Judge
from hypermargin.estimators.choice.blend import blended
from hypermargin.estimators.choice.choosing import TIE, best_of_each_family, indistinguishable, is_near
from hypermargin.estimators.choice.families import ForestFamily, MarginFamily, NeighbourFamily, Samples
from hypermargin.estimators.choice.kernel_family import KernelFamily
from hypermargin.estimators.choice.search import Search, Tried
from hypermargin.estimators.choice.table import mean_score
from hypermargin.workers.environment import describe_environment

#: Nodes and shares of subtrees. Beyond 1,500 samples kernels would be screened, with what is held out in sight.
SHARES = ((1500, 0.1), (1500, 0.05), (1500, 0.02))
NAMES = (
    *(f"taxonomy-{n}-{share}-{seed}" for seed, (n, share) in enumerate(2 * SHARES)),
    *(f"blocks-{seed}" for seed in range(3)),
    *(f"tree-{seed}" for seed in range(3)),
    *(f"mixture-{seed}" for seed in range(3)),
)


def data(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Points, labels and what decides."""
    kind, *numbers = name.split("-")
    seed = int(numbers[-1])
    if kind == "taxonomy":
        X, y = make_taxonomy(int(numbers[0]), positive_fraction=float(numbers[1]), random_state=seed, return_X_y=True)
        return X, y, "average_precision"
    if kind == "mixture":
        X, y = make_gaussian_mixture(60, 4, scale=0.8, random_state=seed, return_X_y=True)
        return X, y, "accuracy"
    rng = np.random.RandomState(seed)
    if kind == "blocks":
        sizes = rng.randint(25, 70, size=4)
        chances = np.where(np.eye(4) == 1, 0.15, 0.02)
        graph = nx.stochastic_block_model(sizes.tolist(), chances.tolist(), seed=seed)
        labels = np.repeat(np.arange(4), sizes)
    else:  # a tree with some more edges; a node belongs to the nearest of six centres
        tree = nx.random_labeled_tree(250, seed=seed)
        graph = nx.Graph(tree)
        graph.add_edges_from([(a, b) for a, b in rng.randint(250, size=(60, 2)).tolist() if a != b])
        centres = rng.permutation(250)[:6].tolist()
        far = [nx.single_source_shortest_path_length(tree, centre) for centre in centres]
        labels = np.array([int(np.argmin([lengths[v] for lengths in far])) for v in range(250)])
    part = sorted(max(nx.connected_components(graph), key=len))
    embedded = embed_graph(nx.convert_node_labels_to_integers(graph.subgraph(part), ordering="sorted"))
    return np.asarray(embedded.X), labels[part], "accuracy"


def best(members: list[Tried], of_blend: Callable[[list[Tried]], Array]) -> list[Tried]:
    return members[:1]


def nearly_best(members: list[Tried], of_blend: Callable[[list[Tried]], Array]) -> list[Tried]:
    return indistinguishable(members)


def nearly_best_unless_worse(members: list[Tried], of_blend: Callable[[list[Tried]], Array]) -> list[Tried]:
    chosen = indistinguishable(members)
    return chosen if is_near(of_blend(chosen), members[0].scores) else members[:1]


def nearly_best_if_better(members: list[Tried], of_blend: Callable[[list[Tried]], Array]) -> list[Tried]:
    chosen = indistinguishable(members)
    return chosen if mean_score(of_blend(chosen)) >= members[0].mean else members[:1]


def two_best(members: list[Tried], of_blend: Callable[[list[Tried]], Array]) -> list[Tried]:
    return members[:2]


def all_families(members: list[Tried], of_blend: Callable[[list[Tried]], Array]) -> list[Tried]:
    return members


def largest_good_blend(members: list[Tried], of_blend: Callable[[list[Tried]], Array]) -> list[Tried]:
    """Of the best, the best two, the best three and so on the largest blend that is hardly worse than the best one.

    Hardly is a quarter of a standard error, scores of five folds counted as independent; a blend that scores as a
    smaller one on every fold is none.
    """
    scores = [members[0].scores, *(of_blend(members[:number]) for number in range(2, len(members) + 1))]
    found = highest = int(np.argmax([round(mean_score(own), 12) for own in scores]))
    for place in range(highest + 1, len(scores)):
        behind = scores[highest] - scores[place]
        is_new = not any(np.allclose(scores[place], other, TIE, TIE) for other in scores[:place])
        if is_new and behind.mean() <= 0.25 * behind.std(ddof=1) / np.sqrt(5):
            found = place
    return members[: 1 + found]


RULES = {
    "the best candidate": best,
    "blend of families within a standard error": nearly_best,
    "the same, unless it is more than a standard error behind the best candidate": nearly_best_unless_worse,
    "the same, if its score in the folds is better": nearly_best_if_better,
    "blend of the two best families": two_best,
    "blend of all families": all_families,
    "the largest blend of best families within a quarter of a standard error of the best": largest_good_blend,
}


def measure(name: str) -> tuple[str, dict[str, float]]:
    """The test score of every rule on one data set, and which score it is."""
    X, y, scoring = data(name)
    rest, held_out = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    scorer = None if scoring == "accuracy" else get_scorer(scoring)
    judge = Judge(scorer, X, y, np.unique(y), None)
    samples = Samples(X, y, None)
    repeats = min(3, -(-400 // rest.size))
    inner = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0).split(rest, y[rest])
    folds = [*((rest[train], rest[test]) for train, test in inner), (rest, held_out)]
    families = (
        MarginFamily("geodesic"),
        MarginFamily("curve"),
        NeighbourFamily(),
        KernelFamily(),
        ForestFamily(0, 100),
    )
    wanted = [(family, family.candidates(samples.take(rest))) for family in families]
    tried = [each for each in Search(samples, judge, 1, False, 0).run(wanted, folds) if each.answers]
    tested = {}
    for each in tried:  # the last fold is the test, which no rule may see
        tested[id(each)] = each.answers[-1], float(each.scores[-1])
        each.answers, each.scores = each.answers[:-1], each.scores[:-1]
    tests = [test for _, test in folds[:-1]]

    def of_blend(members: list[Tried]) -> Array:
        return judge.scores(blended([each.answers for each in members]), tests)

    found = {}
    members = best_of_each_family(tried)
    for rule, choose in RULES.items():
        chosen = choose(members, of_blend)
        if len(chosen) == 1:
            found[rule] = tested[id(chosen[0])][1]
        else:
            (answers,) = blended([[tested[id(each)][0]] for each in chosen])
            found[rule] = judge.score(answers, held_out)
    return scoring, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default="docs/benchmarks/choice.md")
    parser.add_argument("--data", nargs="+", default=NAMES)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, tuple[str, dict[str, float]]] = {}
    for name in args.data:
        began = time.perf_counter()
        results[name] = measure(name)
        print(name, f"{time.perf_counter() - began:.0f} s", results[name], flush=True)
    Path(args.output).write_text(page(results), encoding="utf-8")


def page(results: dict[str, tuple[str, dict[str, float]]]) -> str:
    facts = describe_environment()
    lines = [
        "# Rules of the choice\n",
        f"Made by `python benchmarks/choice_rules.py`, {facts['date']}, commit {facts['commit']}. Test scores on 30 % "
        "of the samples of data that nothing is judged on: average precision on taxonomies (nodes, share of subtree, "
        "seed), accuracy on embedded graphs and mixtures. The third rule is the one in use.\n",
        "| rule | taxonomies | graphs and mixtures | " + " | ".join(results) + " |",
        "|---|" + "---:|" * (len(results) + 2),
    ]
    for rule in RULES:
        by_kind = [
            [found[rule] for scoring, found in results.values() if (scoring == "accuracy") == is_accuracy]
            for is_accuracy in (False, True)
        ]
        means = [f"**{np.mean(values):.3f}**" if values else "–" for values in by_kind]
        lines.append("| " + " | ".join([rule, *means, *(f"{found[rule]:.3f}" for _, found in results.values())]) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
