"""The losses of samples on boxes once more, by the library Arb: a second opinion on `compiled/losses.py`.

Points in the frame, margins, asinh and the minima over intervals are computed with Arb's own error bounds. Slower by
far, and short: what is a matter of quality only, such as slopes, is read off ordinary numbers. Sums over samples are
made of the z_i rounded to doubles, and charged with that rounding.
"""

from math import asinh, hypot, inf

import numpy as np
from flint import arb

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arrays import Array
from hypermargin.certificates.asinh.proof import Frame
from hypermargin.problems.margin import MarginProblem

_ONE = arb(1)
_ROOT_HALF = 0.5**0.5


def _down(value: arb) -> float:
    return float(np.nextafter(float(value.lower()), -inf))


def _up(value: arb) -> float:
    return float(np.nextafter(float(value.upper()), inf))


def _loss(m: float) -> float:
    """Not above ``max(0, asinh(1) - asinh(m))``."""
    return 0.0 if m >= 1.0 else max(0.0, _down(_ONE.asinh() - arb(m).asinh()))


def _least_curvature(left: float, right: float) -> float:
    """Not above ``m (1 + m^2)^(-3/2)`` on an interval; its only minimum, -2/sqrt(27), is at -1/sqrt(2)."""
    if left <= -_ROOT_HALF + 1e-9 and right >= -_ROOT_HALF - 1e-9:
        return _down(-2 / arb(27).sqrt())
    return min(_down(arb(m) / (1 + arb(m) ** 2) ** 1.5) for m in (left, right))


def _largest_curvature(left: float, right: float) -> float:
    """Nearly the largest of the same, at 1/sqrt(2): it decides what is settled, not what is proved."""
    peak = min(max(left, _ROOT_HALF), right)
    return max(m / hypot(1.0, m) ** 3 for m in (left, peak, right))


def _least_offset(slope: float, left: float, right: float) -> float:
    """Not above ``l(m) - slope m`` on an interval, for a slope in [-1, 0]."""
    touch = arb(1)
    if slope < -_ROOT_HALF:
        touch = (1 / arb(slope) ** 2 - 1).nonnegative_part().sqrt()
    touch = touch.max(arb(left)).min(arb(right))
    least = _down((_ONE.asinh() - touch.asinh()).max(arb(0)) - slope * touch)
    return min(least, _down(arb(_loss(left)) - slope * arb(left))) if left < 0.0 else least


def _on_hyperboloid(space: list[float]) -> list[arb]:
    """The point with these space coordinates: ``x0 = sqrt(1 + |xr|^2)`` exactly."""
    coordinates = [arb(value) for value in space]
    return [sum((value * value for value in coordinates), arb(1)).sqrt(), *coordinates]


class ArbLosses:
    """See `compiled.losses.BoxLosses`, whose methods these are."""

    def __init__(self, problem: MarginProblem, frame: Frame, margins_from: Array) -> None:
        columns = [[arb(value) for value in column] for column in frame.matrix.T.tolist()]
        self.z = [
            [y * sum((x * f for x, f in zip(point, column, strict=True)), arb(0)) for column in columns]
            for point, y in zip(map(_on_hyperboloid, problem.X[:, 1:].tolist()), problem.y.tolist(), strict=True)
        ]
        #: The z_i as doubles, which the sums are made of, and a bound on what that changes in their entries.
        self.plain = np.array([[float(value) for value in row] for row in self.z])
        self.doubt = [
            max(_up(abs(value - plain)) for value, plain in zip(row, rounded, strict=True))
            for row, rounded in zip(self.z, self.plain.tolist(), strict=True)
        ]
        self.costs, self.margins_from = problem.costs.tolist(), margins_from.tolist()
        self.kept: list[int] = []
        self.intervals: list[tuple[float, float, float]] = []

    def unsettled(self) -> np.ndarray:
        return np.array(self.kept, dtype=np.intc)

    def settle(
        self, centre: Array, radius: Array, active: np.ndarray, allowed: float, sums: Array, handed_down: bool
    ) -> bool:
        self.kept, self.intervals = [], []
        length = float((np.abs(centre) + radius).sum())
        for i in active.tolist():
            middle = sum((z * c for z, c in zip(self.z[i], centre.tolist(), strict=True)), arb(0))
            spread = sum((abs(z) * r for z, r in zip(self.z[i], radius.tolist(), strict=True)), arb(0))
            left, right = _down(middle - spread), _up(middle + spread)
            if left >= 1.0 or self.costs[i] == 0.0:
                continue
            if right <= self.margins_from[i]:
                return False
            shortened = self.margins_from[i] > left
            left = max(left, self.margins_from[i])
            m = 0.5 * (left + right)
            size = 2.0 * float(np.abs(self.plain[i]) @ (np.abs(centre) + radius)) + right - left
            size += 1.01 * self.doubt[i] * length / U  # the doubt, in units of what `size` stands for
            if right <= 1.0 and not (handed_down and shortened):
                h = _least_curvature(left, right)
                rho = max(right - m, m - left)
                if (_largest_curvature(left, right) - h) * rho * rho <= 2.0 * allowed:
                    self._add_quadratic(i, m, h, size, sums)
                    continue
            self.kept.append(i)
            self.intervals.append((left, right, size))
        return True

    def add_minorants(self, points: Array, weights: Array, sums: Array) -> None:
        for i, (left, right, size) in zip(self.kept, self.intervals, strict=True):
            slope = sum(
                weight * _suggested_slope(max(left, margin), left, right)
                for margin, weight in zip((points @ self.plain[i]).tolist(), weights.tolist(), strict=True)
            )
            slope = min(0.0, max(-1.0, slope))
            offset = _least_offset(slope, left, right)
            sums[0] += self.costs[i] * (1.0 + abs(offset) + abs(slope) * size)
            sums[1] += self.costs[i] * offset
            sums[2 : 2 + self.plain.shape[1]] += self.costs[i] * slope * self.plain[i]

    def outside(self, low: Array, high: Array, reach: float, active: np.ndarray) -> float:
        self.kept, total = [], 0.0
        for i in active.tolist():
            ends = [(z * a, z * b) for z, a, b in zip(self.z[i], low.tolist(), high.tolist(), strict=True)]
            most = sum((a.max(b) for a, b in ends), arb(0))
            least = sum((a.min(b) for a, b in ends), arb(0))
            if _down(least) >= 0.0:
                continue
            self.kept.append(i)
            if _up(most) < 0.0:
                total += self.costs[i] * _loss(_up(reach * most))
        return total

    def _add_quadratic(self, i: int, m: float, h: float, size: float, sums: Array) -> None:
        k, cost, z = len(self.plain[i]), self.costs[i], self.plain[i]
        steepness = -1.0 / hypot(1.0, m)
        value = _loss(m)
        sums[0] += cost * (1.0 + value + size * (4.0 + abs(h) * size))
        sums[1] += cost * (value - steepness * m + 0.5 * h * m * m)
        sums[2 : 2 + k] += cost * (steepness - h * m) * z
        sums[2 + k :] += cost * h * np.outer(z, z).ravel()


def _suggested_slope(m: float, left: float, right: float) -> float:
    """The slope of the convex envelope at m, nearly."""
    if left < 0.0:
        end = _end_of_chord(left)
        if m < end:
            end = min(right, end)
            return (asinh(left) - asinh(end)) / (end - left)
    return -1.0 / hypot(1.0, m) if m < 1.0 else 0.0


def _end_of_chord(left: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if asinh(middle) - asinh(left) < (middle - left) / hypot(1.0, middle):
            low = middle
        else:
            high = middle
    return low
