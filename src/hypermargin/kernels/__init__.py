"""Kernels of the hyperbolic distance: pure functions of Lorentz points, for classifiers here and in scikit-learn."""

import sys

from hypermargin.kernels import base
from hypermargin.kernels.base import (
    KERNELS,
    CoshKernel,
    DistanceKernel,
    HeatKernel,
    Kernel,
    LaplacianKernel,
    cosh_kernel,
    distance_kernel,
    heat_kernel,
    laplacian_kernel,
)

__all__ = [
    "KERNELS",
    "CoshKernel",
    "DistanceKernel",
    "HeatKernel",
    "Kernel",
    "LaplacianKernel",
    "cosh_kernel",
    "distance_kernel",
    "heat_kernel",
    "laplacian_kernel",
]

#: Pickles of earlier versions name the functions by the module where they were.
sys.modules[f"{__name__}.functions"] = base
