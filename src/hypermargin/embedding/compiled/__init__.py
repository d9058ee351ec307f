"""The loop of the neighbourhood objective, which Cython compiles at installation."""
