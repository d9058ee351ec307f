"""The paper's experiments again: `cells` to run, means over folds in `summary`, and a `report` beside the paper's."""
