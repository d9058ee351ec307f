"""Inner loops over samples in memory, compiled by Cython."""
