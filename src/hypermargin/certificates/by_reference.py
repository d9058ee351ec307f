"""Checks by the reference checker: our problems in its form, and its refusals as `CertificateError`."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from hypermargin.certificates import reference
from hypermargin.certificates.core.certificate import REFERENCE, Certificate, CertificateError
from hypermargin.certificates.core.sums import is_in_memory
from hypermargin.certificates.fingerprints import sample_names
from hypermargin.problems.curve import CurveProblem
from hypermargin.problems.kernel import KernelProblem
from hypermargin.problems.linearised import Ellipsoid
from hypermargin.problems.margin import MarginProblem


def bound_by_reference(certificate: Certificate, problem: Any) -> float:
    """The lower bound that the reference checker finds to be proved."""
    return _asked(reference.check, certificate, problem)


def objective_by_reference(certificate: Certificate, problem: Any) -> float:
    """The objective that it finds the answer of the certificate to have, from above."""
    return _asked(reference.objective, certificate, problem)


REFERENCE.update(bound=bound_by_reference, objective=objective_by_reference)


def _asked(check: Callable[..., Any], certificate: Certificate, problem: Any) -> Any:
    exact = exact_problem(problem)
    data = json.loads(json.dumps(certificate.to_dict()))  # what a file would hold
    if isinstance(problem, KernelProblem):
        data["statement"] = {"model": repr(problem.kernel)}
    try:
        return check(data, exact)
    except reference.Refused as error:
        raise CertificateError(str(error)) from error


def exact_problem(problem: Any) -> reference.Problem:
    """A problem in memory in the form of the reference checker."""
    margin = problem.margin if isinstance(problem, CurveProblem) else problem
    if not isinstance(margin, KernelProblem) and not (isinstance(margin, MarginProblem) and is_in_memory(margin)):
        raise CertificateError("the reference checker reads points, and those in memory only")
    weight = margin.sample_weight
    return reference.Problem(
        space=(margin.space if isinstance(margin, KernelProblem) else margin.X[:, 1:]).tolist(),
        y=margin.y.astype(int).tolist(),
        C=float(margin.C),
        weight=None if weight is None else weight.tolist(),
        noise=_noise(getattr(margin, "uncertainty", None), margin.n_samples),
        allow_timelike=bool(getattr(margin, "allow_timelike", False)),
        centre=problem.centre.tolist() if isinstance(problem, CurveProblem) else None,
        names=None if isinstance(margin, KernelProblem) else _names(margin),
    )


def _names(problem: MarginProblem) -> list[str]:
    return [f"{name % 2**64:016x}" for name in sample_names(problem).tolist()]


def _noise(noise: Any, n_samples: int) -> dict[str, Any] | None:
    if noise is None:
        return None
    rho = np.broadcast_to(noise.rho, n_samples).tolist()
    shape = {"shape": noise.shape.tolist()} if isinstance(noise, Ellipsoid) else {}
    return {"set": type(noise).__name__, "rho": rho, **shape}
