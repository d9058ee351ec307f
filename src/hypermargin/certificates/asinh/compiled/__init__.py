"""The inner loops of the check: plain Python that Cython compiles (see `hypermargin.compilation`)."""
