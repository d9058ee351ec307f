"""How a search begins: the oracle that suits the problem, and a search without cuts."""

from hypermargin.passes.home import Together
from hypermargin.passes.spread import SpreadProblem
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.deep_search import DeepSearch
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.journal import Journal
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.robust_oracle import make_robust_oracle
from hypermargin.solvers.exact.search import Search
from hypermargin.solvers.exact.spread_oracle import SpreadOracle

#: Where cuts come from: one pass each, the interior-point method, or whichever is quicker by the rule below.
CUTS = ("auto", "plain", "deep")
#: From these dimensions on, with so many samples, the interior-point method is the quicker one: measured by
#: `benchmarks/bench_dims.py --only rule` from 500 to 300,000 samples.
DEEP_FROM = ((10, 0), (8, 10_000), (6, 200_000))
#: Where every pass reads the samples anew it has ten reads to make instead of fifty, in the plane too.
DEEP_FROM_ANEW = (*DEEP_FROM, (1, 100_000))


def fresh_search(
    problem: MarginProblem, frame: Frame | None = None, cuts: str = "auto", checkpoint: str | None = None
) -> tuple[HingeOracle, Search]:
    """The oracle of a problem in a frame (around its centre by default) and a search that has not begun.

    `checkpoint` names the file of a journal.
    """
    frame = Frame(problem.centre) if frame is None else frame
    oracle = make_oracle(problem, frame)
    if checkpoint is not None:
        oracle = Journal(checkpoint, oracle, problem)
    deep = cuts == "deep" or (cuts == "auto" and deep_is_quicker(problem) and not frame.precise)
    samples = oracle.samples if deep else None
    if samples is None:
        return oracle, Search(oracle, problem.dim, problem.allow_timelike)
    return oracle, DeepSearch(oracle, problem.dim, problem.allow_timelike)


def deep_is_quicker(problem: MarginProblem) -> bool:
    """Whether the interior-point method is the quicker one."""
    anew = isinstance(problem, SpreadProblem) and problem.home.together is Together.ALWAYS
    bounds = DEEP_FROM_ANEW if anew else DEEP_FROM
    return any(problem.dim >= dim and problem.n_samples >= samples for dim, samples in bounds)


def make_oracle(problem: MarginProblem, frame: Frame) -> HingeOracle:
    """The oracle that suits where the samples are and what their margins are."""
    if isinstance(problem, SpreadProblem):
        return SpreadOracle(problem, frame)
    return HingeOracle(problem, frame) if problem.uncertainty is None else make_robust_oracle(problem, frame)
