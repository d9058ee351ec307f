"""Certificates: proofs of lower bounds, and the code that checks them. Nothing here imports a solver."""

from hypermargin.certificates.certificate import (
    Certificate,
    Combination,
    DirectionBox,
    RegionProof,
)
from hypermargin.certificates.hard_margin import HardMarginCertificate, InfeasibilityCertificate
from hypermargin.certificates.proof import CertificateError, Proof
from hypermargin.certificates.robust_overlap import RobustInfeasibilityCertificate

__all__ = [
    "Certificate",
    "CertificateError",
    "Combination",
    "DirectionBox",
    "HardMarginCertificate",
    "InfeasibilityCertificate",
    "Proof",
    "RegionProof",
    "RobustInfeasibilityCertificate",
]
