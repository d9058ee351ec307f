"""A page (and a widget) to look at points and classifiers of the hyperbolic plane."""

from hypermargin.explorer.explorer import Explorer, explore

__all__ = ["Explorer", "explore"]
