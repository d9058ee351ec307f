"""Inner loops in Cython."""
