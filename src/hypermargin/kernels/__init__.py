"""Kernels of the hyperbolic distance: pure functions of Lorentz points, for classifiers here and in scikit-learn.

The public names are listed in ``__init__.pyi``.
"""

import sys

from hypermargin.kernels import base
from hypermargin.lazy_names import lazy_names

__getattr__, __dir__, __all__, _ = lazy_names(__name__, __file__)

#: Pickles of earlier versions name the functions by the module where they were.
sys.modules[f"{__name__}.functions"] = base
