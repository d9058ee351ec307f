"""Kernel classifiers tried on all folds from one kernel matrix, which serves every C as well.

In the folds, where nothing has to be proved, libsvm (by scikit-learn) solves the problems; its objective is that of
`HyperbolicKernelSVC`, which is fitted where a kernel is chosen. Many samples have no matrix: there kernels are
approximated by landmarks, and `HyperbolicKernelSVC` is fitted in the folds as well.
"""

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from hypermargin.arrays import Array
from hypermargin.estimators.choice.answers import Answers
from hypermargin.estimators.choice.families import CS, MANY_SAMPLES, ROUGH, Family, Parameters, Samples, _number
from hypermargin.estimators.fitting import calibrate
from hypermargin.estimators.inputs import TrainingSet
from hypermargin.estimators.kernel_choice import PARAMETERS, chosen_kernel
from hypermargin.estimators.kernel_svc import HyperbolicKernelSVC
from hypermargin.estimators.multiclass import make_scheme
from hypermargin.estimators.prediction import Prediction
from hypermargin.kernels.chords import polar_points

#: Kernels and the multiples of the parameter "scale" that they are tried with; docs/benchmarks/kernel_scale.md says
#: which ones are worth it.
GRID = {"distance": (1.0,), "laplacian": (1.0, 2.0), "heat": (0.25, 1.0, 4.0), "cosh": (1.0, 4.0)}
#: Steps of libsvm for each training sample: large C on classes that overlap would take for ever, and rarely wins.
STEPS = 100
#: Landmarks that stand for a kernel of many samples.
LANDMARKS = 500


class KernelFamily(Family):
    """`HyperbolicKernelSVC`, all C of a kernel at once."""

    name = "kernel"
    screened_from = 1500
    shares_folds = True

    def candidates(self, samples: Samples) -> list[Parameters]:
        found: list[Parameters] = []
        given = dict.fromkeys(PARAMETERS.values(), "scale")
        for kernel, multiples in GRID.items():
            if kernel == "distance" and len(samples.labels) > MANY_SAMPLES:
                continue  # conditionally positive definite kernels have no landmarks
            suited = vars(chosen_kernel(kernel, given, samples.X, samples.weight, 1.0))
            for multiple in multiples:
                setting = {name: multiple * value for name, value in suited.items()}
                found += [{"kernel": kernel, **setting, "C": C} for C in CS]
        return found

    def model(self, parameters: Parameters) -> HyperbolicKernelSVC:
        return HyperbolicKernelSVC(**parameters)

    def on_all(self, parameters: Parameters, n_samples: int) -> Parameters:
        """With landmarks where samples are many, unless the user has said otherwise."""
        if n_samples <= MANY_SAMPLES or parameters.get("kernel") == "distance":
            return parameters
        return parameters | {"n_landmarks": LANDMARKS, "random_state": 0} | parameters  # new ones last

    def in_space(self, parameters: Parameters, scale: float) -> Parameters:
        powers = {"t": 2, "gamma": -1}  # as a length enters; `power` is of none
        return {
            name: value / scale ** powers[name] if name in powers and not isinstance(value, str) else value
            for name, value in parameters.items()
        }

    def in_words(self, parameters: Parameters) -> str:
        others = {name: value for name, value in parameters.items() if name not in ("kernel", "random_state")}
        return ", ".join([parameters.get("kernel", "heat"), *(f"{k} = {_number(v)}" for k, v in others.items())])

    def tasks(self, candidates: Sequence[Parameters]) -> list[list[int]]:
        """Candidates of one kernel go together."""
        groups: dict[str, list[int]] = {}
        for place, parameters in enumerate(candidates):
            others = {name: value for name, value in parameters.items() if name != "C"}
            groups.setdefault(repr(sorted(others.items())), []).append(place)
        return list(groups.values())

    def answers(
        self, candidates: Sequence[Parameters], samples: Samples, folds: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[list[Answers]]:
        model = self.model(candidates[0]).set_params(tol=ROUGH)
        Cs = [float(parameters.get("C", 1.0)) for parameters in candidates]
        if model.n_landmarks is not None:
            return [_by_landmarks(model, Cs, samples.take(train), samples.X[test]) for train, test in folds]
        kernel = chosen_kernel(model.kernel, model._kernel_parameters(), samples.X, samples.weight, 1.0)
        used = np.unique(np.concatenate([rows for fold in folds for rows in fold]))
        gram = kernel.between(polar_points(samples.X[used]))
        own = samples.take(used)
        return [_on_fold(gram, Cs, own, *(np.searchsorted(used, rows) for rows in fold)) for fold in folds]


def _by_landmarks(model: HyperbolicKernelSVC, Cs: Sequence[float], train: Samples, tested: Array) -> list[Answers]:
    """Answers for points of classifiers fitted for every C, with as many landmarks as there are samples at most."""
    model.n_landmarks = min(model.n_landmarks or LANDMARKS, len(np.unique(train.X, axis=0)))
    fitted = model.fit_path(train.X, train.labels, Cs, sample_weight=train.weight)
    return [Answers(each.predict_proba(tested), each.decision_function(tested)) for each in fitted]


def _on_fold(gram: Array, Cs: Sequence[float], samples: Samples, train: np.ndarray, test: np.ndarray) -> list[Answers]:
    """Answers for the rows `test` of classifiers fitted to the rows `train` for every C."""
    rows = train[np.argsort(samples.labels[train], kind="stable")]
    own = samples.take(rows)
    classes, sizes = np.unique(own.labels, return_counts=True)
    among, towards = gram[np.ix_(rows, rows)], gram[np.ix_(test, rows)]
    sorted_samples = TrainingSet(own.X, [0, *np.cumsum(sizes).tolist()], own.weight)
    scheme = make_scheme("ovo", classes.size)
    sign = 1.0 if classes.size == 2 else -1.0  # libsvm's pairs speak for their first class
    found = []
    for C in Cs:
        machine = SVC(C=C, kernel="precomputed", tol=ROUGH, decision_function_shape="ovo", max_iter=STEPS * len(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(among, own.labels, sample_weight=own.weight)
        trained, tested = (sign * machine.decision_function(K).reshape(len(K), -1) for K in (among, towards))
        A, B = calibrate(sorted_samples, scheme.code, partial(_block_of, trained))
        prediction = Prediction(scheme, A, B)
        found.append(Answers(prediction.probability(tested), prediction.decision(tested)))
    return found


def _block_of(scores: Array, problem: int, rows: slice) -> Array:
    return scores[rows, problem]
