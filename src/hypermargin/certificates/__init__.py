"""Certificates: proofs of lower bounds, and the code that checks them. Nothing here imports a solver."""

from hypermargin.certificates.base import Certificate, CertificateError
from hypermargin.certificates.hard_margin import HardMarginCertificate, OverlapCertificate
from hypermargin.certificates.proof import Combination, DirectionBox, EnvelopeProof, RegionProof, SharedCut
from hypermargin.certificates.robust.overlap import RobustOverlapCertificate
from hypermargin.certificates.soft_margin import SoftMarginCertificate
from hypermargin.certificates.statement import Statement

__all__ = [
    "Certificate",
    "CertificateError",
    "Combination",
    "DirectionBox",
    "EnvelopeProof",
    "HardMarginCertificate",
    "OverlapCertificate",
    "RegionProof",
    "RobustOverlapCertificate",
    "SharedCut",
    "SoftMarginCertificate",
    "Statement",
]
