"""The exact method on tiny instances: what the fuzz test and the fuzz command have in common."""

from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers import solve
from reference.tiny import TinyBatch, complaint, tiny_batch


def check_instance(batch: TinyBatch, i: int, best: float) -> str | None:
    """What is wrong with the solution of instance i of a batch, or None; `best` is the value of brute force."""
    problem = MarginProblem(
        batch.X[i], batch.y[i], C=batch.C[i], sample_weight=batch.weight[i], allow_timelike=batch.timelike
    )
    try:
        solution = solve(problem, method="exact", tol=1e-6)
        wrong = complaint(batch, i, best, solution, solution.certificate.verify(problem))
    except Exception as error:
        wrong = f"raised {type(error).__name__}: {error}"
    return None if wrong is None else f"tiny_batch(seed={batch.seed}, index={batch.index}), instance {i}: {wrong}"


def check_batch(name: tuple[int, int]) -> str | None:
    """The first complaint about the batch named (seed, index), or None."""
    batch = tiny_batch(*name)
    complaints = (check_instance(batch, i, float(best)) for i, best in enumerate(batch.best_values()))
    return next((wrong for wrong in complaints if wrong is not None), None)
