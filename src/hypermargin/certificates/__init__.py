"""Certificates: proofs of lower bounds, and the code that checks them. Nothing here imports a solver."""

from hypermargin.certificates.certificate import (
    Certificate,
    CertificateError,
    Combination,
    DirectionBox,
    RegionProof,
)
from hypermargin.certificates.hard_margin import HardMarginCertificate, InfeasibilityCertificate
from hypermargin.certificates.robust_overlap import RobustInfeasibilityCertificate

__all__ = [
    "Certificate",
    "CertificateError",
    "Combination",
    "DirectionBox",
    "HardMarginCertificate",
    "InfeasibilityCertificate",
    "RegionProof",
    "RobustInfeasibilityCertificate",
]
