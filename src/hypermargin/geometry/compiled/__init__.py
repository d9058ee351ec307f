"""Inner loops of the geometry, compiled by Cython; without a compiler the interpreter runs the same files."""
