"""Kernels of the hyperbolic distance: pure functions of Lorentz points, for classifiers here and in scikit-learn."""

from hypermargin.kernels.base import (
    KERNELS,
    CoshKernel,
    DistanceKernel,
    HeatKernel,
    Kernel,
    LaplacianKernel,
)
from hypermargin.kernels.functions import cosh_kernel, distance_kernel, heat_kernel, laplacian_kernel

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
