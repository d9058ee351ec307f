"""The facts that identify a problem, for the statements of certificates."""

from dataclasses import fields
from typing import Any

import numpy as np

from hypermargin.certificates.core.statement import identified_by
from hypermargin.certificates.fingerprints import array_fingerprint, fingerprints, sample_fingerprints
from hypermargin.kernels import Kernel
from hypermargin.problems.curve import CurveProblem
from hypermargin.problems.kernel import FeatureProblem, KernelProblem
from hypermargin.problems.margin import BinaryProblem
from hypermargin.problems.uncertainty import UncertaintySet

#: How a statement about boundaries that are curves begins.
CURVES = "generalised hyperplanes"


def _margin_facts(problem: BinaryProblem) -> dict[str, Any]:
    noise = problem.uncertainty
    return _named(fingerprints(problem)) | {
        "uncertainty": None if noise is None else _described(noise),
        "allow_timelike": bool(problem.allow_timelike),
    }


def _curve_facts(problem: CurveProblem) -> dict[str, Any]:
    return _margin_facts(problem.margin) | {"model": f"{CURVES} around the centre {array_fingerprint(problem.centre)}"}


def _kernel_facts(problem: KernelProblem) -> dict[str, Any]:
    kernel = repr(problem.kernel) if isinstance(problem.kernel, Kernel) else "a kernel of the user's own"
    return _named(sample_fingerprints(problem.space, problem.y, problem.sample_weight)) | {"model": kernel}


def _feature_facts(problem: FeatureProblem) -> dict[str, Any]:
    found = sample_fingerprints(problem.identity, problem.y, problem.sample_weight)
    return _named(found) | {"model": problem.origin}


identified_by(BinaryProblem, _margin_facts)
identified_by(CurveProblem, _curve_facts)
identified_by(KernelProblem, _kernel_facts)
identified_by(FeatureProblem, _feature_facts)


def _named(found: tuple[str, str, str | None]) -> dict[str, Any]:
    return dict(zip(("points", "labels", "weights"), found, strict=True))


def _described(noise: UncertaintySet) -> str:
    """The set as Python writes it, with fingerprints for arrays."""
    content = [(field.name, getattr(noise, field.name)) for field in fields(noise)]
    written = [
        f"{name}={value!r}" if np.ndim(value) == 0 else f"{name}={array_fingerprint(value)}" for name, value in content
    ]
    return f"{type(noise).__name__}({', '.join(written)})"
