"""The paper's Gaussian mixtures (app. gaussian): drawn in the tangent space at the origin and lifted by ``exp_0``."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from hypermargin.datasets.bunch import Dataset, as_dataset, check_integer
from hypermargin.geometry.models import to_lorentz


def make_gaussian_mixture(
    n_samples: int | Sequence[int] = 100,
    n_classes: int = 2,
    *,
    dim: int = 2,
    scale: float = 0.4,
    centers: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Dataset:
    """Isotropic Gaussians in the tangent space at the origin, one per class, lifted to the hyperboloid.

    Centres are standard normal in R^d and samples are ``N(centre, scale^2 I)``. The paper has 100 samples per class,
    2, 3 or 5 classes and scales 0.4, 0.6, 0.8 and 1.0 in two dimensions. The numbers are drawn in the order of its
    public code, so that the same integer `random_state` gives the same points.

    Parameters
    ----------
    n_samples : int or sequence of int
        Samples of each class; a sequence has one number per class.
    n_classes : int
    dim : int
        The dimension d of the hyperbolic space.
    scale : float
        Standard deviation of each Gaussian.
    centers : (n_classes, d) array, optional
        Centres in the tangent space, instead of random ones.
    random_state : int, RandomState or None
    return_X_y : bool
        Return ``(X, y)`` only.

    Returns
    -------
    Bunch with X (n, d + 1), y (n,), centers (n_classes, d) and description.
    """
    n_classes, dim = check_integer(n_classes, "n_classes"), check_integer(dim, "dim")
    scale = float(scale)
    if not (np.isfinite(scale) and scale >= 0.0):
        raise ValueError(f"scale must be a non-negative finite number, got {scale!r}")
    sizes = [n_samples] * n_classes if isinstance(n_samples, Integral) else list(n_samples)  # type: ignore[arg-type]
    if len(sizes) != n_classes:
        raise ValueError(f"n_samples must be one number or {n_classes} numbers, one per class; got {len(sizes)}")
    sizes = [check_integer(size, "n_samples") for size in sizes]
    rng = check_random_state(random_state)
    if centers is None:
        means = rng.normal(size=(n_classes, dim))
    else:
        means = np.array(centers, dtype=np.float64)
        if means.shape != (n_classes, dim):
            raise ValueError(f"centers must have shape ({n_classes}, {dim}), got {means.shape}")
    tangent = np.concatenate(
        [mean + rng.normal(scale=scale, size=(size, dim)) for mean, size in zip(means, sizes, strict=True)]
    )
    return as_dataset(
        return_X_y,
        X=to_lorentz(tangent, "tangent"),
        y=np.repeat(np.arange(n_classes), sizes),
        centers=means,
        description=f"{n_classes} Gaussians of scale {scale:g} in the tangent space of H^{dim}, lifted by exp_0.",
    )
