"""Kernel classifiers: the dual problem solved by decomposition, or by an interior point in few features."""
