"""The inner loops of the exact method, compiled by Cython; without a compiler the interpreter runs the same files."""
