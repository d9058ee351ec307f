"""The public names and packages, which `__init__.py` imports when they are first used."""

from hypermargin import anndata as anndata
from hypermargin import certificates as certificates
from hypermargin import datasets as datasets
from hypermargin import embedding as embedding
from hypermargin import estimators as estimators
from hypermargin import explorer as explorer
from hypermargin import geometry as geometry
from hypermargin import graphs as graphs
from hypermargin import kernels as kernels
from hypermargin import passes as passes
from hypermargin import plotting as plotting
from hypermargin import problems as problems
from hypermargin import solvers as solvers
from hypermargin.certificates import Certificate as Certificate
from hypermargin.certificates import SoftMarginCertificate as SoftMarginCertificate
from hypermargin.data.inspecting import Inspection as Inspection
from hypermargin.data.inspecting import inspect as inspect
from hypermargin.estimators import HyperbolicClassifierCV as HyperbolicClassifierCV
from hypermargin.estimators import HyperbolicForestClassifier as HyperbolicForestClassifier
from hypermargin.estimators import HyperbolicKernelSVC as HyperbolicKernelSVC
from hypermargin.estimators import HyperbolicKNeighborsClassifier as HyperbolicKNeighborsClassifier
from hypermargin.estimators import HyperbolicOneClassSVM as HyperbolicOneClassSVM
from hypermargin.estimators import HyperbolicSVC as HyperbolicSVC
from hypermargin.estimators import HyperbolicSVCCV as HyperbolicSVCCV
from hypermargin.estimators import HyperbolicTreeClassifier as HyperbolicTreeClassifier
from hypermargin.estimators import load_model as load_model
from hypermargin.estimators import save_model as save_model
from hypermargin.explorer import explore as explore
from hypermargin.problems import Ball as Ball
from hypermargin.problems import Box as Box
from hypermargin.problems import CrossPolytope as CrossPolytope
from hypermargin.problems import Ellipsoid as Ellipsoid
from hypermargin.problems import GeodesicBall as GeodesicBall
from hypermargin.problems import MarginProblem as MarginProblem
from hypermargin.solvers import Solution as Solution
from hypermargin.solvers import Status as Status
from hypermargin.solvers import available_methods as available_methods
from hypermargin.solvers import solve as solve
from hypermargin.solvers import solve_path as solve_path

__version__: str
__all__: list[str]
PACKAGES: tuple[str, ...]
