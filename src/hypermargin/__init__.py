"""hypermargin: large-margin classifiers in hyperbolic space, with proofs of optimality.

Everything in `__all__` and the packages of `PACKAGES` can be used after ``import hypermargin``. They are listed in
``__init__.pyi`` and imported when they are first used, because scikit-learn and SciPy take more than a second to load.
"""

from hypermargin.lazy_names import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__, _submodules = lazy_names(__name__, __file__)

#: The packages that are public.
PACKAGES = tuple(_submodules)
