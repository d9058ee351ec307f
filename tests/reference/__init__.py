"""Independent judges of the solvers. Nothing here imports hypermargin: what it judges cannot leak into the verdict."""
