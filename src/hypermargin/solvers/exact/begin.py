"""How a search begins: the oracle that suits the problem, and a search without cuts."""

from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.robust_oracle import make_robust_oracle
from hypermargin.solvers.exact.search import Search


def fresh_search(problem: MarginProblem, frame: Frame | None = None) -> tuple[HingeOracle, Search]:
    """The oracle of a problem in a frame (around its centre by default) and a search that has not begun."""
    frame = Frame(problem.centre) if frame is None else frame
    oracle = HingeOracle(problem, frame) if problem.uncertainty is None else make_robust_oracle(problem, frame)
    return oracle, Search(oracle, problem.dim, problem.allow_timelike)
