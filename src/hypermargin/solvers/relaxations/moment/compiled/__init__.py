"""The inner loops of the moment solver, compiled by Cython; the same algebra in arrays is beside this folder."""
