"""The reference checker: what a certificate of each kind is, and when it holds. Needs python-flint and nothing else.

It is written from the mathematics, for a reader and not for speed, believes no field of a file, and is the definition
of validity: whatever faster code accepts, this must accept with the same bound but for rounding. `check` takes the
parsed JSON of a certificate and a `Problem`; `objective` bounds that of the answer in it from above.
"""

from typing import Any

from .boxes import asinh_lower_bound
from .dual import dual_lower_bound
from .envelope import lower_bound
from .exact import Malformed, Problem, Refused
from .moment import moment_lower_bound
from .objective import objective
from .overlap import check_overlap, check_robust_overlap

__all__ = ["Malformed", "Problem", "Refused", "check", "objective"]

CHECKS = {
    "hypermargin-certificate-1": lower_bound,
    "hypermargin-hard-margin-1": lower_bound,
    "hypermargin-kernel-1": dual_lower_bound,
    "hypermargin-curve-1": dual_lower_bound,
    "hypermargin-moment-1": moment_lower_bound,
    "hypermargin-asinh-2": asinh_lower_bound,
    "hypermargin-overlap-1": check_overlap,
    "hypermargin-robust-overlap-1": check_robust_overlap,
}


def check(certificate: Any, problem: Problem) -> float:
    """The lower bound that a certificate proves for a problem, or `Refused` with the reason."""
    kind = certificate.get("format") if isinstance(certificate, dict) else None
    if not isinstance(kind, str) or kind not in CHECKS:
        raise Refused(f"there is no certificate of the kind {kind!r:.60}")
    return CHECKS[kind](certificate, problem)
