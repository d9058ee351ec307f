"""Certificates of all kinds as files: what comes back proves the same, and nothing else is taken for one."""

import json
from typing import Any, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from hypermargin import MarginProblem, solve
from hypermargin.certificates import (
    Certificate,
    CertificateError,
    HardMarginCertificate,
    OverlapCertificate,
    RobustOverlapCertificate,
    SoftMarginCertificate,
)
from hypermargin.certificates.core import plain
from hypermargin.problems import GeodesicBall
from hypermargin.safe_io import Damage
from reference.instances import make_instance

SEPARABLE, OVERLAPPING = (make_instance(family, d=2, n=16, C=1.0, seed=3) for family in ("separable", "overlap"))
PROBLEMS = {
    SoftMarginCertificate: MarginProblem(OVERLAPPING.X, OVERLAPPING.y),
    HardMarginCertificate: MarginProblem(SEPARABLE.X, SEPARABLE.y, C=np.inf),
    OverlapCertificate: MarginProblem(OVERLAPPING.X, OVERLAPPING.y, C=np.inf),
    RobustOverlapCertificate: MarginProblem(SEPARABLE.X, SEPARABLE.y, C=np.inf, uncertainty=GeodesicBall(3.0)),
}


@pytest.fixture(scope="module")
def proofs():
    found = {kind: solve(problem).certificate for kind, problem in PROBLEMS.items()}
    assert all(type(proof) is kind for kind, proof in found.items())
    return found


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_file_proves_what_was_proved(proofs, kind, tmp_path):
    proof, problem = proofs[kind], PROBLEMS[kind]
    proof.save(tmp_path / "proof.json")
    for reader in (kind, Certificate):
        loaded = reader.load(tmp_path / "proof.json")
        assert type(loaded) is kind
        assert loaded.to_dict() == proof.to_dict()
        assert loaded.verify(problem) == proof.verify(problem)
        # A second opinion: the same bound up to what either rounds away.
        assert loaded.verify(problem, by_arb=True) == pytest.approx(proof.verify(problem), rel=1e-12)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_proof_of_another_kind_is_refused(proofs, kind, tmp_path):
    for other, proof in proofs.items():
        proof.save(tmp_path / "proof.json")
        if other is not kind:
            with pytest.raises(CertificateError, match="not a certificate in the format"):
                kind.load(tmp_path / "proof.json")


@pytest.mark.parametrize("kind", PROBLEMS)
def test_damage_is_told(proofs, kind):
    plain = json.loads(json.dumps(proofs[kind].to_dict()))
    for name in plain:
        if name not in ("statement", "answer", "centre", "equal_weights"):  # files of old have none
            with pytest.raises(CertificateError):
                Certificate.from_dict({key: value for key, value in plain.items() if key != name})
        with pytest.raises(CertificateError):
            Certificate.from_dict({**plain, name: "?"})
    for nonsense in (None, [], "proof", {"format": "hypermargin-certificate-0"}):
        with pytest.raises(CertificateError, match="not a certificate"):
            Certificate.from_dict(nonsense)


def test_arrays_are_read_where_their_type_is_an_alias_that_keeps_its_name(monkeypatch):
    """So it is in NumPy 2.5 with Python 3.12."""
    scalar = TypeVar("scalar", bound=np.generic)
    alias = TypeAliasType("NDArray", np.ndarray[Any, np.dtype[scalar]], type_params=(scalar,))
    monkeypatch.setattr(plain, "NDArray", alias)
    found = plain.from_plain(alias[np.float64], [1.0, 2.5])
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 2.5]
    with pytest.raises(Damage, match="numbers in a list"):
        plain.from_plain(alias[np.int64], [[1, 2]])
