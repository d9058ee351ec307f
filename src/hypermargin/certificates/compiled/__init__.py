"""The inner loops of the check, compiled by Cython."""
