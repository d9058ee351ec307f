"""Certificates: proofs of lower bounds, and the code that checks them. Nothing here imports a solver.

`core` is what has to be trusted: what a certificate is and how that of a soft margin is checked. The modules beside it
are plugged into it: other kinds of certificate, fast sums over the samples, and the facts that identify a problem.
"""

from hypermargin.certificates import blocks, identity  # noqa: F401 (they register what they offer to the core)
from hypermargin.certificates.asinh.certificate import AsinhCertificate
from hypermargin.certificates.asinh.proof import BoxLeaf, BoxProof
from hypermargin.certificates.core.certificate import Answer, Certificate, CertificateError
from hypermargin.certificates.core.proof import Combination, DirectionBox, EnvelopeProof, RegionProof, SharedCut
from hypermargin.certificates.core.soft_margin import SoftMarginCertificate
from hypermargin.certificates.core.statement import Statement
from hypermargin.certificates.curve import CurveCertificate
from hypermargin.certificates.hard_margin import (
    HardMarginCertificate,
    OverlapCertificate,
    RobustOverlapCertificate,
)
from hypermargin.certificates.kernel import KernelCertificate
from hypermargin.certificates.moment import MomentCertificate

__all__ = [
    "Answer",
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
