"""What a solution tells of its search."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any


def told_history(passed: Sequence[float]) -> dict[str, list[float]]:
    """The history from bound and objective, in turn, after each pass; a bound once found holds on."""
    return {
        "lower_bound": list(accumulate(passed[::2], max, initial=0.0))[1:],
        "objective": list(passed[1::2]),
    }


def told_info(passes: int, full_passes: float, splits: int, regions: int, precise: bool) -> dict[str, Any]:
    """Counts of passes, also in reads of all samples, of splits and regions, and the arithmetic of the frame."""
    return {
        "passes": passes,
        "full_passes": full_passes,
        "splits": splits,
        "regions": regions,
        "arithmetic": "double-double" if precise else "double",
    }
