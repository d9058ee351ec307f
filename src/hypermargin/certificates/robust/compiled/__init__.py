"""The inner loop of the check of robust problems, compiled by Cython."""
