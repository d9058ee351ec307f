"""Certificates: proofs of lower bounds, and the code that checks them. Nothing here imports a solver."""

from hypermargin.certificates.base import Certificate, CertificateError
from hypermargin.certificates.hard_margin import HardMarginCertificate, OverlapCertificate
from hypermargin.certificates.robust.overlap import RobustOverlapCertificate
from hypermargin.certificates.soft_margin import (
    Combination,
    DirectionBox,
    RegionProof,
    SoftMarginCertificate,
)

__all__ = [
    "Certificate",
    "CertificateError",
    "Combination",
    "DirectionBox",
    "HardMarginCertificate",
    "OverlapCertificate",
    "RegionProof",
    "RobustOverlapCertificate",
    "SoftMarginCertificate",
]
