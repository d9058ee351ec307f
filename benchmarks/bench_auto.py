"""What `HyperbolicClassifierCV` costs and how good it is, beside a grid search of an RBF SVM and a random forest.

Processor time of `fit`, and on held-out folds accuracy, log loss, Brier score and expected calibration error. The grid
of the SVM has 25 settings and 4 folds, on tangent coordinates, and its probabilities are those of Platt. One line of
JSON is written for each data set, fold and classifier; lines that are there already are not measured again.

    python benchmarks/bench_auto.py run FILE [--data NAME ...] [--folds 0 1] [--models auto rbf forest]
    python benchmarks/bench_auto.py table FILE [OTHER]       means, ratios, and a paired comparison with another run
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel, wilcoxon
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from hypermargin.datasets import list_embeddings
from hypermargin.estimators import HyperbolicClassifierCV, HyperbolicForestClassifier
from hypermargin.geometry.models import from_lorentz
from hypermargin_studies.accuracy.cells import load, taxonomy_name

LARGE = ("cifar", "fashion-mnist")
DATA = (
    *(name for name in list_embeddings() if name not in LARGE),
    *(taxonomy_name(n, share, 300) for n, share in ((300, 0.1), (1000, 0.05), (3000, 0.03))),
)
GRID = {"svc__C": [0.1, 1.0, 10.0, 100.0, 1000.0], "svc__gamma": [0.01, 0.1, 0.5, 2.0, 10.0]}
#: Probabilities below count as this, so that one certain and wrong answer does not make a mean.
LEAST_PROBABILITY = 1e-6
#: Bins of the calibration error.
BINS = 10
MEASURES = ("seconds", "accuracy", "log loss", "Brier", "calibration error")


def rbf_grid(y: np.ndarray) -> BaseEstimator:
    return GridSearchCV(
        make_pipeline(StandardScaler(), SVC(probability=False)),
        GRID,
        cv=StratifiedKFold(4, shuffle=True, random_state=0),
    )


def fitted(model: str, X: np.ndarray, y: np.ndarray) -> tuple[object, float, str]:
    """A fitted classifier, the seconds of processor time of its search, and what it chose.

    The probabilities of the SVM are fitted after the clock has stopped.
    """
    began = time.process_time()
    if model == "auto":
        auto = HyperbolicClassifierCV().fit(X, y)
        return auto, time.process_time() - began, json.dumps(auto.best_params_, default=str)
    if model == "our forest":
        return HyperbolicForestClassifier(200, random_state=0).fit(X, y), time.process_time() - began, ""
    X = from_lorentz(X, "tangent")
    if model == "forest":
        return RandomForestClassifier(200, random_state=0).fit(X, y), time.process_time() - began, ""
    search = rbf_grid(y).fit(X, y)
    seconds = time.process_time() - began
    chosen = search.best_estimator_.set_params(svc__probability=True, svc__random_state=0).fit(X, y)
    return chosen, seconds, json.dumps(search.best_params_)


def measured(model: str, data: str, fold: int) -> dict:
    """One line of the file."""
    X, y = load(data)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    train, test = list(folds.split(X, y))[fold]
    classifier, seconds, chosen = fitted(model, X[train], y[train])
    tested = X[test] if model in ("auto", "our forest") else from_lorentz(X[test], "tangent")
    known = np.searchsorted(np.unique(y), classifier.classes_)
    probability = np.zeros((len(test), np.unique(y).size))
    probability[:, known] = classifier.predict_proba(tested)
    columns = np.searchsorted(np.unique(y), y[test])
    values = (
        seconds,
        accuracy_score(y[test], classifier.predict(tested)),
        log_loss(columns, np.maximum(probability, LEAST_PROBABILITY), labels=np.arange(probability.shape[1])),
        float(np.mean(np.sum((probability - np.eye(probability.shape[1])[columns]) ** 2, axis=1))),
        calibration_error(probability, columns),
    )
    return {
        "data": data,
        "fold": fold,
        "model": model,
        **{name: float(value) for name, value in zip(MEASURES, values, strict=True)},
        "chosen": chosen,
    }


def calibration_error(probability: np.ndarray, columns: np.ndarray) -> float:
    """The mean distance of the confidence in the predicted class from its accuracy, over bins of the confidence."""
    confidence, right = probability.max(axis=1), probability.argmax(axis=1) == columns
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(sum(abs(np.sum(right[bins == b] - confidence[bins == b])) for b in range(BINS)) / len(columns))


def lines_of(path: Path) -> dict[tuple[str, int, str], dict]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return {(line["data"], line["fold"], line["model"]): line for line in lines}


def show(path: Path, other: Path | None) -> None:
    """Means over data sets, the ratio of times, and paired differences from the other file."""
    lines = lines_of(path)
    models = list(dict.fromkeys(model for *_, model in lines))
    cells = sorted({(d, f) for d, f, m in lines if m == "auto"} & {(d, f) for d, f, m in lines if m == "rbf"})
    names = list(dict.fromkeys(d for d, _ in cells))
    for measure in MEASURES:
        print(f"\n{measure:24}" + "".join(f"{model:>12}" for model in models))
        table = []
        for name in names:
            own = [f for d, f in cells if d == name]
            row = [np.mean([lines.get((name, f, m), {measure: np.nan})[measure] for f in own]) for m in models]
            table.append(row)
            print(f"{name:24}" + "".join(f"{value:12.4f}" for value in row))
        print(f"{'mean':24}" + "".join(f"{value:12.4f}" for value in np.mean(table, axis=0)))
        if measure == "seconds":
            ratios = [row[models.index("auto")] / row[models.index("rbf")] for row in table]
            total = np.sum(table, axis=0)
            print(f"auto : rbf in total {total[models.index('auto')] / total[models.index('rbf')]:.2f}")
            print("by set " + ", ".join(f"{name} {ratio:.1f}" for name, ratio in zip(names, ratios, strict=True)))
    if other is not None:
        compare(lines, lines_of(other))


def compare(lines: dict, before: dict) -> None:
    shared = sorted(key for key in lines if key in before and key[2] == "auto")
    names = sorted({data for data, *_ in shared})
    print(f"\nauto against the other run on {len(shared)} folds of {len(names)} sets (differences of means by set)")
    for measure in MEASURES:
        pairs = [
            [np.mean([source[key][measure] for key in shared if key[0] == name]) for source in (lines, before)]
            for name in names
        ]
        own, theirs = np.array(pairs).T
        moved = own - theirs
        p = wilcoxon(moved).pvalue if np.any(moved) else 1.0
        print(
            f"{measure:18} {own.mean():.4f} : {theirs.mean():.4f}, difference {moved.mean():+.4f} "
            f"± {moved.std(ddof=1) / np.sqrt(len(names)):.4f}, t test p = {ttest_rel(own, theirs).pvalue:.3f}, "
            f"Wilcoxon p = {p:.3f}; worst {max(moved, key=abs):+.3f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("file", type=Path)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--folds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--models", nargs="+", default=["rbf", "forest", "auto"])
    given = parser.parse_args()
    if given.what == "table":
        show(given.file, given.other)
        return
    warnings.simplefilter("ignore")
    known = lines_of(given.file)
    for fold in given.folds:
        for name in given.data:
            for model in given.models:
                if (name, fold, model) not in known:
                    line = measured(model, name, fold)
                    with given.file.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps(line) + "\n")
                    print(f"{name} {fold} {model}: " + ", ".join(f"{m} {line[m]:.4g}" for m in MEASURES), flush=True)


if __name__ == "__main__":
    main()
