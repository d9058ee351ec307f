"""Never a false certificate: 10,000 tiny instances against the enumeration of all stationary points.

`python benchmarks/fuzz.py --instances 1000000` runs as many as one likes.
"""

import pytest

from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import solve
from reference.tiny import BATCH, complaint, tiny_batch

INSTANCES = 10_000
CHUNK = 500


@pytest.mark.parametrize("first", range(0, INSTANCES, CHUNK))
def test_bounds_never_exceed_brute_force(first):
    for index in range(first // BATCH, (first + CHUNK) // BATCH):
        batch = tiny_batch(seed=0, index=index)
        for i, best in enumerate(batch.best_values()):
            problem = MarginProblem(
                batch.X[i], batch.y[i], C=batch.C[i], sample_weight=batch.weight[i], allow_timelike=batch.timelike
            )
            solution = solve(problem, method="exact", tol=1e-6)
            verified = solution.certificate.verify(problem)
            wrong = complaint(batch, i, best, solution, verified)
            assert wrong is None, f"tiny_batch(seed=0, index={index}), instance {i}: {wrong}"
