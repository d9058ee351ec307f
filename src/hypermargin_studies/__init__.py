"""Studies with hypermargin: the paper's experiments again, accuracy, robustness, and solvers scored on public problems.

They use the library, which imports none of this.
"""

#: The commands that this package adds to `hypermargin`: each is the module of its name in `commands`.
COMMANDS = {
    "accuracy": "all models and their peers in nested cross-validation",
    "robustness": "whether training with uncertainty sets helps, and against what",
    "reproduce": "every table and figure of the paper, with the exact optimum beside them",
    "score": "score a solver of yours on problems with certified optima",
}
