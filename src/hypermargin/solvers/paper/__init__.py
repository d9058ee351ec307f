"""The paper's relaxations: the semidefinite program, the moment hierarchy, and what only they share."""
