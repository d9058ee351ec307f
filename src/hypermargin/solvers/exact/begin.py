"""How a search begins: the oracle that suits the problem, and a search without cuts."""

from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.deep_search import DeepSearch
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.robust_oracle import make_robust_oracle
from hypermargin.solvers.exact.search import Search

#: Where cuts come from: one pass each, the interior-point method, or whichever is quicker by the rule below.
CUTS = ("auto", "plain", "deep")
#: From this dimension on the interior-point method is the quicker one.
DEEP_FROM = 10


def fresh_search(problem: MarginProblem, frame: Frame | None = None, cuts: str = "auto") -> tuple[HingeOracle, Search]:
    """The oracle of a problem in a frame (around its centre by default) and a search that has not begun."""
    frame = Frame(problem.centre) if frame is None else frame
    if problem.uncertainty is not None:
        robust = make_robust_oracle(problem, frame)
        return robust, Search(robust, problem.dim, problem.allow_timelike)
    oracle = HingeOracle(problem, frame)
    deep = cuts == "deep" or (cuts == "auto" and problem.dim >= DEEP_FROM and not frame.precise)
    return oracle, (DeepSearch if deep else Search)(oracle, problem.dim, problem.allow_timelike)
