"""`HyperbolicSVC` with C chosen by cross-validation along a path of solutions."""

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from hypermargin.arrays import Array
from hypermargin.data.ingest import KleinWarning, RadiusWarning, to_unit
from hypermargin.estimators.base import keyword_only
from hypermargin.estimators.scoring import middle_of_best, takes_weights
from hypermargin.estimators.svc import HyperbolicSVC
from hypermargin.problems.margin import check_weights
from hypermargin.problems.uncertainty import UncertaintySet
from hypermargin.progress import tracked

#: What `fit` sets besides the attributes of the final fit.
SEARCH = ("C_", "Cs_", "scores_")


@dataclass(eq=False, repr=False)
class SearchParameters:
    """What `HyperbolicSVCCV` has before the parameters of `HyperbolicSVC`: fields of the last base class come first."""

    Cs: Any = 10
    cv: Any = 5
    scoring: Any = None


@keyword_only
@dataclass(eq=False, repr=False)
class HyperbolicSVCCV(HyperbolicSVC, SearchParameters):
    """Large-margin classifier in hyperbolic space that chooses its C by cross-validation.

    In every fold each binary problem is solved for all C at once: the exact method carries its cuts along, so a path
    costs little more than one fit. The C of the best mean score (the middle one of those, if they tie) is then fitted
    to all data. After that it is a `HyperbolicSVC` with that C, in attributes and methods alike.

    Parameters
    ----------
    Cs : int or sequence of float, default=10
        The values to choose from; a number asks for so many between 1e-3 and 1e3, evenly on a logarithmic scale.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer means stratified folds.
    scoring : str or callable, optional
        As in scikit-learn; accuracy by default.
    solver, boundary, multi_class, geometry, curvature, class_weight, fit_intercept, allow_timelike, uncertainty, tol, \
refine, solver_options, n_jobs, random_state, verbose, loss
        As in `HyperbolicSVC`.

    Attributes
    ----------
    C_ : float
        The value chosen; also called `C`.
    Cs_ : (n_Cs,) array
        The candidates, increasing.
    scores_ : (n_folds, n_Cs) array
        Their test scores.
    estimator_ : HyperbolicSVC
        The final fit as a `HyperbolicSVC` of its own, without the search.
    classes_, coef_, intercept_, solutions_, gaps_, statuses_, n_iter_, probA_, probB_, n_features_in_, \
feature_names_in_
        Of the final fit, as in `HyperbolicSVC`.

    Examples
    --------
    >>> from hypermargin import HyperbolicSVCCV
    >>> from hypermargin.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(60, 3, random_state=0, return_X_y=True)
    >>> model = HyperbolicSVCCV(Cs=[0.1, 1.0, 10.0]).fit(X, y)
    >>> model.scores_.shape
    (5, 3)
    >>> model.C_ in (0.1, 1.0, 10.0)
    True
    """

    def _chosen_C(self) -> float:
        check_is_fitted(self, "C_")
        return self.C_

    C: ClassVar[property] = property(_chosen_C)  # type: ignore[misc]  # no parameter here

    def fit(self, X, y=None, sample_weight=None, groups=None) -> "HyperbolicSVCCV":
        """Choose C by cross-validation, then fit to all of X, shape (n, width), with labels y.

        Weights, shape (n,), multiply C in every fit, and weigh the test scores as well where the scorer takes weights.
        `groups`, shape (n,), are for splitters that keep groups together, such as `GroupKFold`; a pipeline or search
        hands them on after ``set_fit_request(groups=True)``.
        """
        self.Cs_ = self._candidates()
        checked, y = self._validated(X, y)
        to_unit(checked, self.geometry, self.curvature, self.rim)  # errors before the folds, whose rows are others
        weight = None if sample_weight is None else check_weights(sample_weight, len(checked))
        scorer = check_scoring(self._with_C(1.0), scoring=self.scoring)
        scored_weight = weight if takes_weights(scorer) else None
        scores = []
        folds = list(check_cv(self.cv, y, classifier=True).split(checked, y, groups))
        for train, test in tracked(folds, "folds", len(folds), closing=True) if self.verbose >= 1 else folds:
            with warnings.catch_warnings():
                for told_once in (ConvergenceWarning, KleinWarning, RadiusWarning):  # by the final fit
                    warnings.simplefilter("ignore", told_once)
                fitted = self._on_rows(train).fit_path(
                    checked[train], y[train], self.Cs_, sample_weight=None if weight is None else weight[train]
                )
                extra = {} if scored_weight is None else {"sample_weight": scored_weight[test]}
                scores.append([scorer(model, checked[test], y[test], **extra) for model in fitted])
        self.scores_ = np.array(scores)
        self.C_ = float(self.Cs_[middle_of_best(self.scores_.mean(axis=0))])
        super().fit(X, y, sample_weight=weight)
        return self

    @property
    def estimator_(self) -> HyperbolicSVC:
        check_is_fitted(self)
        model = self._with_C(self.C_)
        own = self.get_params(deep=False)
        for name, value in vars(self).items():
            if name not in own and name not in SEARCH:
                setattr(model, name, value)
        return model

    def _to_store(self) -> HyperbolicSVC:
        return self.estimator_

    def _with_C(self, C: float) -> HyperbolicSVC:
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in HyperbolicSVC().get_params() if name in own}
        return HyperbolicSVC(**{**shared, "C": C})

    def _on_rows(self, rows: np.ndarray) -> HyperbolicSVC:
        """A classifier for some of the samples, and so some of their uncertainty sets."""
        model = self._with_C(1.0).set_params(verbose=0)  # the folds show progress
        if isinstance(self.uncertainty, UncertaintySet):
            model.uncertainty = self.uncertainty.take(rows)
        return model

    def _candidates(self) -> Array:
        """The values of C in increasing order."""
        if isinstance(self.Cs, Integral) and not isinstance(self.Cs, bool):
            if int(self.Cs) < 1:
                raise ValueError(f"Cs must ask for at least one value, got {self.Cs!r}")
            return np.logspace(-3.0, 3.0, int(self.Cs)) if int(self.Cs) > 1 else np.array([1.0])
        try:
            Cs = np.array(self.Cs, dtype=np.float64)
        except (TypeError, ValueError):
            Cs = np.empty(0)
        if Cs.ndim != 1 or Cs.size == 0 or not np.all(Cs > 0.0):
            raise ValueError(f"Cs must be a whole number or a list of positive numbers, got {self.Cs!r}")
        return np.sort(Cs)
