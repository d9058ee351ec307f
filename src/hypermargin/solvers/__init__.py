"""Solvers: `solve`, the contract they keep (`base.py`), and one algorithm per file or folder.

The public names are listed in ``__init__.pyi``, and `METHODS` has the class of each method. A solver is imported when
it is first used.
"""

from hypermargin.lazy_names import lazy_names
from hypermargin.solvers.base import announce

#: For each method its module and its class, in the order in which methods are listed.
METHODS = {
    "euclidean": ("hypermargin.solvers.euclidean", "Euclidean"),
    "exact": ("hypermargin.solvers.exact.method", "Exact"),
    "pgd": ("hypermargin.solvers.pgd", "ProjectedGradient"),
    "sdp": ("hypermargin.solvers.paper.sdp", "SDP"),
    "moment": ("hypermargin.solvers.paper.moment.solver", "Moment"),
}
for _method, (_module, _class) in METHODS.items():
    announce(_method, _module, _class)

__getattr__, __dir__, __all__, _ = lazy_names(__name__, __file__)
