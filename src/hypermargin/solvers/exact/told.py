"""What a solution tells of its search."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any


def told_history(passed: Sequence[tuple[float, float]]) -> dict[str, list[float]]:
    """The history from (bound, objective) after each pass that a region asked for; a bound once found holds on."""
    return {
        "lower_bound": list(accumulate((lower for lower, _ in passed), max, initial=0.0))[1:],
        "objective": [upper for _, upper in passed],
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
