"""Certificates: proofs of lower bounds, and the code that checks them. Nothing here imports a solver."""

from hypermargin.certificates.asinh.certificate import AsinhCertificate
from hypermargin.certificates.asinh.proof import BoxLeaf, BoxProof
from hypermargin.certificates.base import Certificate, CertificateError
from hypermargin.certificates.curve import CurveCertificate
from hypermargin.certificates.hard_margin import HardMarginCertificate, OverlapCertificate
from hypermargin.certificates.kernel import KernelCertificate
from hypermargin.certificates.moment import MomentCertificate
from hypermargin.certificates.proof import Combination, DirectionBox, EnvelopeProof, RegionProof, SharedCut
from hypermargin.certificates.robust.overlap import RobustOverlapCertificate
from hypermargin.certificates.soft_margin import SoftMarginCertificate
from hypermargin.certificates.statement import Statement

__all__ = [
    "AsinhCertificate",
    "BoxLeaf",
    "BoxProof",
    "Certificate",
    "CertificateError",
    "Combination",
    "CurveCertificate",
    "DirectionBox",
    "EnvelopeProof",
    "HardMarginCertificate",
    "KernelCertificate",
    "MomentCertificate",
    "OverlapCertificate",
    "RegionProof",
    "RobustOverlapCertificate",
    "SharedCut",
    "SoftMarginCertificate",
    "Statement",
]
