"""The public names, which `__init__.py` imports when they are first used."""

from hypermargin.kernels.base import KERNELS as KERNELS
from hypermargin.kernels.base import CoshKernel as CoshKernel
from hypermargin.kernels.base import DistanceKernel as DistanceKernel
from hypermargin.kernels.base import HeatKernel as HeatKernel
from hypermargin.kernels.base import Kernel as Kernel
from hypermargin.kernels.base import LaplacianKernel as LaplacianKernel
from hypermargin.kernels.base import cosh_kernel as cosh_kernel
from hypermargin.kernels.base import distance_kernel as distance_kernel
from hypermargin.kernels.base import heat_kernel as heat_kernel
from hypermargin.kernels.base import laplacian_kernel as laplacian_kernel

__all__: list[str]
