"""How a search is set up: the oracle that suits the problem, and where its cuts come from."""

from threading import local

from hypermargin.data.blocked_problem import BlockedProblem
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.exact.blocked_oracle import BlockedOracle
from hypermargin.solvers.exact.compiled.search import Search
from hypermargin.solvers.exact.frames import Frame
from hypermargin.solvers.exact.interior_point import InteriorPointCuts
from hypermargin.solvers.exact.journal import Journal
from hypermargin.solvers.exact.oracle import HingeOracle
from hypermargin.solvers.exact.pass_cuts import LEAST_SAMPLES, PassCuts, has_many_samples
from hypermargin.solvers.exact.robust_oracle import make_robust_oracle

#: Where cuts come from: one pass each, the interior-point method, or whichever is quicker by the rule below.
CUTS = ("auto", "plain", "deep")
#: From these dimensions on, with so many samples, the interior-point method is the quicker one: measured by
#: `benchmarks/bench_dims.py --only rule` from 500 to 300,000 samples.
DEEP_FROM = ((10, 0), (8, 10_000), (6, 200_000))
#: Where every pass reads the samples anew it has ten reads to make instead of fifty, in the plane too.
DEEP_FROM_ANEW = (*DEEP_FROM, (1, 100_000))


#: The search of the last small problem of each thread: to make its tables takes as long as such a search.
_KEPT = local()


def make_search(
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
    source: type[InteriorPointCuts] | type[PassCuts] | None = PassCuts if has_many_samples(oracle) else None
    if deep and oracle.samples is not None:
        source = InteriorPointCuts
    return oracle, Search(oracle, problem.dim, problem.allow_timelike, source)


def kept_search(problem: MarginProblem, frame: Frame) -> tuple[HingeOracle, Search]:
    """The same for a small problem with plain cuts; the search is done with when the thread asks for another one."""
    oracle, kind = HingeOracle(problem, frame), (problem.dim, problem.allow_timelike)
    if getattr(_KEPT, "kind", None) == kind:
        _KEPT.search.begin(oracle)
    else:
        _KEPT.search, _KEPT.kind = Search(oracle, *kind), kind
    return oracle, _KEPT.search


def is_small(problem: MarginProblem) -> bool:
    """Whether `kept_search` is for such problems."""
    return (
        type(problem) is MarginProblem
        and problem.uncertainty is None
        and not problem.is_hard
        and problem.n_samples < LEAST_SAMPLES
        and not deep_is_quicker(problem)
    )


def deep_is_quicker(problem: MarginProblem) -> bool:
    """Whether the interior-point method is the quicker one."""
    bounds = DEEP_FROM_ANEW if problem.rereads else DEEP_FROM
    return any(problem.dim >= dim and problem.n_samples >= samples for dim, samples in bounds)


def make_oracle(problem: MarginProblem, frame: Frame) -> HingeOracle:
    """The oracle that suits where the samples are and what their margins are."""
    if isinstance(problem, BlockedProblem):
        return BlockedOracle(problem, frame)
    return HingeOracle(problem, frame) if problem.uncertainty is None else make_robust_oracle(problem, frame)
