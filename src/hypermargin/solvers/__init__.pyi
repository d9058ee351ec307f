"""The public names, which `__init__.py` imports when they are first used."""

from hypermargin.solvers.base import ROUNDING as ROUNDING
from hypermargin.solvers.base import Outcome as Outcome
from hypermargin.solvers.base import Solution as Solution
from hypermargin.solvers.base import Solver as Solver
from hypermargin.solvers.base import Status as Status
from hypermargin.solvers.base import available_methods as available_methods
from hypermargin.solvers.base import get_solver as get_solver
from hypermargin.solvers.base import make_solver as make_solver
from hypermargin.solvers.base import register as register
from hypermargin.solvers.base import relative_gap as relative_gap
from hypermargin.solvers.euclidean import Euclidean as Euclidean
from hypermargin.solvers.exact.method import Exact as Exact
from hypermargin.solvers.paper.moment.solver import Moment as Moment
from hypermargin.solvers.paper.sdp import SDP as SDP
from hypermargin.solvers.pgd import ProjectedGradient as ProjectedGradient
from hypermargin.solvers.solving import solve as solve
from hypermargin.solvers.solving import solve_path as solve_path

__all__: list[str]
METHODS: dict[str, tuple[str, str]]
