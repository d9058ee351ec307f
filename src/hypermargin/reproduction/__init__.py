"""The paper's experiments: a plan of cells, workers that run them, and the report made of what they measured.

`plan` says what there is to do, `engine` does it (every finished cell is kept by `cache`), `summary` averages over
folds, `tables`, `figures` and `report` show it beside the paper's numbers. `problem_set` and `scoring`
are for other people's solvers.
"""
