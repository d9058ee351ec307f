"""Hyperbolic geometry: coordinates, distances, isometries, means and hyperplanes, as pure functions of arrays.

The public names are listed in ``__init__.pyi``.
"""

from hypermargin.lazy_names import lazy_names

__getattr__, __dir__, __all__, _ = lazy_names(__name__, __file__)
