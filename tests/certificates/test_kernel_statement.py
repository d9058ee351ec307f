"""Certificates of kernels, landmarks and curves tell their problem from every other one, in Python and in files."""

from dataclasses import replace

import numpy as np
import pytest

from hypermargin import Certificate, HyperbolicKernelSVC, HyperbolicSVC, MarginProblem
from hypermargin.certificates import CertificateError
from hypermargin.datasets import make_gaussian_mixture
from hypermargin.geometry import lift
from hypermargin.kernels import KERNELS
from hypermargin.kernels.base import kernel_from_text
from hypermargin.problems.curve import CurveProblem

X, Y = make_gaussian_mixture(20, 3, scale=0.7, random_state=1, return_X_y=True)
MODELS = {
    "kernel": HyperbolicKernelSVC(C=2.0, class_weight={0: 1.0, 1: 2.0, 2: 3.0}),
    "distance": HyperbolicKernelSVC(C=2.0, kernel="distance", multi_class="ovr"),
    "landmarks": HyperbolicKernelSVC(C=2.0, n_landmarks=12, random_state=0),
    "curve": HyperbolicSVC(C=2.0, boundary="curve"),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param].fit(X, Y)


def certificate_and_problem(model, k=1):
    return model.solutions_[k].certificate, model.binary_problems(X, Y)[k]


def test_each_states_its_own_problem_and_no_other(model, tmp_path):
    problems = model.binary_problems(X, Y)
    for k, solution in enumerate(model.solutions_):
        solution.certificate.save(tmp_path / "proof.json")
        stated = Certificate.load(tmp_path / "proof.json")
        for j, problem in enumerate(problems):
            assert stated.holds(problem) == (j == k)
        assert stated.verify(problems[k]) == pytest.approx(solution.lower_bound, rel=1e-9)
        assert stated.statement.objective == solution.objective


def test_what_differs_is_said(model):
    certificate, problem = certificate_and_problem(model)
    others = {
        "C is 3 here and 2 there": problem.with_C(3.0),
        "the points are others": model.binary_problems(lift(1.0001 * X[:, 1:]), Y)[1] if model_moves(model) else None,
        "it classifies by": MarginProblem(X[Y != 1], np.where(Y[Y != 1] == 0, -1.0, 1.0), C=2.0),
    }
    for words, other in others.items():
        if other is not None:
            with pytest.raises(CertificateError, match=f"another problem.*{words}|about {problem.n_samples} points"):
                certificate.verify(other)


def model_moves(model):
    """Landmarks are those of the data, so other data has none of them."""
    return getattr(model, "method_", "") != "landmarks"


def test_weights_and_labels_are_part_of_it():
    certificate, problem = certificate_and_problem(MODELS["kernel"].fit(X, Y))
    with pytest.raises(CertificateError, match="the sample weights are others"):
        certificate.verify(replace(problem, sample_weight=None))
    with pytest.raises(CertificateError, match="the labels are others"):
        certificate.verify(replace(problem, y=-problem.y))
    with pytest.raises(CertificateError, match=r"it classifies by HeatKernel\(t=7\.0\) here and HeatKernel\(t="):
        certificate.verify(replace(problem, kernel=KERNELS["heat"](7.0), gram=None))


def test_another_centre_is_another_problem():
    certificate, problem = certificate_and_problem(MODELS["curve"].fit(X, Y))
    with pytest.raises(CertificateError, match="generalised hyperplanes around the centre"):
        certificate.verify(CurveProblem(problem.margin, problem.centre + 0.01))


def test_a_forged_bound_is_found(model):
    certificate, problem = certificate_and_problem(model)
    forged = replace(certificate, statement=replace(certificate.statement, bound=1.001 * certificate.statement.bound))
    with pytest.raises(CertificateError, match="does not hold what it states"):
        forged.verify(problem)


def test_a_kernel_is_read_from_what_python_writes():
    for kernel in (KERNELS["heat"](0.1 + 0.2), KERNELS["cosh"](1e-300), KERNELS["laplacian"](3.0)):
        assert kernel_from_text(repr(kernel)) == kernel
    assert kernel_from_text("DistanceKernel()") == KERNELS["distance"]()
    assert kernel_from_text("HeatKernel(t=1.0) seen from the 3 landmarks 00") is None
