"""What several solvers share: Clarabel behind one function, programs of hinges, proofs that classes overlap."""
