"""The inner loops of the search: plain Python that Cython compiles (see `hypermargin.compilation`)."""
