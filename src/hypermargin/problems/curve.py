"""The margin problem of generalised hyperplanes: boundaries ``x * w + b = 0`` with an intercept that costs nothing.

    minimise  (q(w) + 2 (w * c)^2)/2 + sum_i c_i max(0, 1 - y_i (x_i * w + b))/sqrt2     over w and b

Spacelike w have boundaries at a constant distance from a hyperplane (hypercycles, in the plane), lightlike ones
horospheres, timelike ones spheres. With an intercept all three are classifiers, and q alone would let timelike w grow
for free; ``q(w) + 2 (w * c)^2`` is the squared Euclidean length of w in the frame of a point c, convex, and the same in
every frame if c moves with the data, as their mean does.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.arrays import Array
from hypermargin.geometry.isometries import move_to_origin
from hypermargin.geometry.lorentz import covector, lift, minkowski_dot, quadratic_form
from hypermargin.geometry.mean import frechet_mean
from hypermargin.problems.kernel import FeatureProblem
from hypermargin.problems.losses import SQRT2
from hypermargin.problems.margin import MarginProblem

#: Dual weights are found a hair below their bounds, which are multiples of 1/sqrt2 and no doubles.
BELOW = 1.0 - 2.0**-49


@dataclass(frozen=True, eq=False)
class CurveProblem:
    """Points, labels and weights of a margin problem whose boundaries may be curves.

    Parameters
    ----------
    margin : MarginProblem
        Points, labels, C and weights; a soft margin without an uncertainty set.
    centre : (d,) array, optional
        Space coordinates of c; those of the weighted Fréchet mean of the points where None.
    """

    margin: MarginProblem
    centre: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.margin.is_hard:
            raise ValueError("boundaries that are curves need a finite C")
        if self.margin.uncertainty is not None:
            raise ValueError("boundaries that are curves do not go with an uncertainty set")
        centre: Array | None = self.centre
        if centre is None:
            centre = frechet_mean(self.margin.X, self.margin.sample_weight)[1:]
        object.__setattr__(self, "centre", np.asarray(centre, dtype=np.float64))

    @property
    def X(self) -> Array:
        return self.margin.X

    @property
    def y(self) -> Array:
        return self.margin.y

    @property
    def C(self) -> float:
        return self.margin.C

    @property
    def dim(self) -> int:
        return self.margin.dim

    @property
    def n_samples(self) -> int:
        return self.margin.n_samples

    @cached_property
    def costs(self) -> Array:
        """``c_i / sqrt2``, shape (n,): what a margin that is short by 1 costs."""
        return self.margin.costs / SQRT2

    @cached_property
    def point(self) -> Array:
        """The point c, shape (d + 1,)."""
        return lift(self.centre)

    def length_squared(self, w: ArrayLike) -> float:
        """``q(w) + 2 (w * c)^2``."""
        return float(quadratic_form(w)) + 2.0 * float(minkowski_dot(self.point, w)) ** 2

    def objective(self, w: ArrayLike, loss: str = "hinge", intercept: float = 0.0) -> float:
        """The objective at w and an intercept, with any loss of `MarginProblem`."""
        return 0.5 * max(self.length_squared(w), 0.0) + self.margin.risk(w, loss, intercept)

    def margins(self, w: ArrayLike, intercept: float = 0.0) -> Array:
        """``y_i (x_i * w + intercept)``, shape (n,)."""
        return self.margin.margins(w, intercept)

    def normal(self, beta: Array) -> Array:
        """The w of dual weights: ``-P + 2 (c * P) c`` with ``P = sum beta_i x_i``; shape (d + 1,)."""
        P = beta @ self.X
        return -P + 2.0 * float(minkowski_dot(self.point, P)) * self.point

    def in_frame(self) -> FeatureProblem:
        """The same problem in the frame of c, where ``|w|^2`` is Euclidean: a linear classifier with an intercept."""
        features = covector(move_to_origin(self.X, self.point))
        return FeatureProblem(features, np.array(self.y), self.C / SQRT2 * BELOW, self.margin.sample_weight)

    def with_C(self, C: float) -> "CurveProblem":
        """The same problem with another C."""
        if not math.isfinite(C):
            raise ValueError("boundaries that are curves need a finite C")
        return self if C == self.C else replace(self, margin=self.margin.with_C(C))
