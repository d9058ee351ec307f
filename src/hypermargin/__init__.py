"""hypermargin: large-margin classifiers in hyperbolic space, with proofs of optimality.

Everything in `__all__` and the packages of `PACKAGES` can be used after ``import hypermargin``. They are imported when
they are first used, because scikit-learn and SciPy take more than a second to load.
"""

from typing import TYPE_CHECKING

from hypermargin.lazy_names import lazy_names

if TYPE_CHECKING:  # the same names for type checkers and editors, which do not run the package
    from hypermargin.certificates import Certificate, SoftMarginCertificate
    from hypermargin.estimators import (
        HyperbolicClassifierCV,
        HyperbolicForestClassifier,
        HyperbolicKernelSVC,
        HyperbolicKNeighborsClassifier,
        HyperbolicSVC,
        HyperbolicSVCCV,
        HyperbolicTreeClassifier,
        load_model,
        save_model,
    )
    from hypermargin.explorer import explore
    from hypermargin.problems import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, MarginProblem
    from hypermargin.solvers import Solution, Status, available_methods, solve, solve_path

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Box",
    "Certificate",
    "CrossPolytope",
    "Ellipsoid",
    "GeodesicBall",
    "HyperbolicClassifierCV",
    "HyperbolicForestClassifier",
    "HyperbolicKNeighborsClassifier",
    "HyperbolicKernelSVC",
    "HyperbolicSVC",
    "HyperbolicSVCCV",
    "HyperbolicTreeClassifier",
    "MarginProblem",
    "SoftMarginCertificate",
    "Solution",
    "Status",
    "available_methods",
    "explore",
    "load_model",
    "save_model",
    "solve",
    "solve_path",
]

#: The packages that are public, each for one step from points to pictures.
PACKAGES = (
    "anndata",
    "certificates",
    "datasets",
    "embedding",
    "estimators",
    "explorer",
    "geometry",
    "kernels",
    "passes",
    "plotting",
    "problems",
    "solvers",
)

_HOMES = {
    **dict.fromkeys(("Certificate", "SoftMarginCertificate"), "hypermargin.certificates"),
    **dict.fromkeys(
        (
            "HyperbolicClassifierCV",
            "HyperbolicForestClassifier",
            "HyperbolicKNeighborsClassifier",
            "HyperbolicKernelSVC",
            "HyperbolicSVC",
            "HyperbolicSVCCV",
            "HyperbolicTreeClassifier",
            "load_model",
            "save_model",
        ),
        "hypermargin.estimators",
    ),
    "explore": "hypermargin.explorer",
    **dict.fromkeys(
        ("Ball", "Box", "CrossPolytope", "Ellipsoid", "GeodesicBall", "MarginProblem"), "hypermargin.problems"
    ),
    **dict.fromkeys(("Solution", "Status", "available_methods", "solve", "solve_path"), "hypermargin.solvers"),
    **{package: f"hypermargin.{package}" for package in PACKAGES},
}

if not TYPE_CHECKING:  # a type checker would accept any name at all
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
