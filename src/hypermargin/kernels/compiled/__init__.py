"""Inner loops of kernels as machine code."""
