"""The paper's experiments run again: a plan of cells, workers that run them, and a report on what they measured.

`plan` lists the cells and `engine` runs them; `cache` keeps each as it finishes, `summary` averages over folds, and
`report` shows the averages beside the paper's numbers.
"""
