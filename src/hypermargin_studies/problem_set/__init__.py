"""The public problem set: binary problems with certified optima, and the scoring of other people's solvers."""
