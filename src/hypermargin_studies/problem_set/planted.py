"""Planted truths: problems whose optimum is known because they were built around it, and their values in Arb.

`benchmarks/plant.py` draws them and says why the optimum is what it is; planted.json has the points, which lie on the
hyperboloid exactly, and an interval for the optimum that is far narrower than any tolerance. No solver was asked.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from importlib.resources import files
from typing import Any

from flint import arb

from hypermargin.arithmetic import dot, in_arb

Vector = list[Any]
INF = math.inf


@dataclass(frozen=True)
class Planted:
    """A problem and the interval ``lower <= optimum <= upper`` that was planted; both infinite: infeasible.

    `noise` names an uncertainty set and its sizes, `kernel` a kernel and its parameter; `centre` makes it a problem of
    generalised hyperplanes.
    """

    space: list[list[float]]
    y: list[int]
    C: float
    lower: float = INF
    upper: float = INF
    weight: list[float] | None = None
    noise: tuple[str, list[float]] | None = None
    kernel: tuple[str, float] | None = None
    centre: list[float] | None = None
    loss: str = "hinge"
    timelike: bool = False
    name: str = field(default="", compare=False)

    @property
    def is_feasible(self) -> bool:
        return self.upper < INF

    def value(self, w: Sequence[float], low: Sequence[float] | None = None, intercept: float = 0.0) -> arb:
        """The objective at ``w + low``, enclosed; infinite where w is not feasible."""
        with in_arb():
            normal = [arb(v) + arb(u) for v, u in zip(w, low or [0.0] * len(w), strict=True)]
            X = [lifted(row) for row in self.space]
            costs = [arb(self.C) * arb(v) for v in self.weight or [1.0] * len(X)]
            if self.kernel is not None:
                K = [[kernel_value(self.kernel, x, v) for v in X] for x in X]
                scores = [dot(row, normal) + arb(intercept) for row in K]
                half = dot(normal, [s - arb(intercept) for s in scores]) / 2
                return half + sum((c * relu(1 - y * s) for c, y, s in zip(costs, self.y, scores, strict=True)), arb(0))
            q = form(normal)
            if self.centre is not None:
                q += 2 * product_of(lifted(self.centre), normal) ** 2
            elif q < 0 and not self.timelike:
                return arb(INF)
            rho = self.noise[1] if self.noise else [0.0] * len(X)
            scores = [y * (product_of(x, normal) + arb(intercept)) for x, y in zip(X, self.y, strict=True)]
            margins = [self._worst(m, arb(r), normal, q) for m, r in zip(scores, rho, strict=True)]
            if self.C == INF:
                return arb(INF) if any(m < 1 for m in margins) else relu(q) / 2
            return relu(q) / 2 + dot(costs, [loss_of(self.loss, m) for m in margins])

    def _worst(self, m: arb, rho: arb, w: Vector, q: arb) -> arb:
        """The worst margin of a sample with margin m: linearised sets are around the origin only."""
        if self.noise is None or rho == 0:
            return m
        if self.noise[0] == "GeodesicBall":
            return rho.cosh() * m - rho.sinh() * relu(q + m * m).sqrt()
        sizes = [abs(v) for v in w[1:]]
        lengths = {"Box": sum(sizes, arb(0)), "CrossPolytope": reduce(arb.max, sizes), "Ball": dot(sizes, sizes).sqrt()}
        return m - rho * lengths[self.noise[0]]


def product_of(x: Sequence[Any], w: Sequence[Any]) -> Any:
    """``x * w``."""
    return x[0] * w[0] - dot(x[1:], w[1:])


def form(w: Sequence[Any]) -> Any:
    """``q(w)``."""
    return -product_of(w, w)


def relu(value: arb) -> arb:
    return value.nonnegative_part()


def lifted(row: Sequence[float]) -> Vector:
    space = [arb(v) for v in row]
    return [(1 + dot(space, space)).sqrt(), *space]


def loss_of(loss: str, m: arb) -> arb:
    return relu(1 - m) * arb(2).rsqrt() if loss == "hinge" else relu(arb(1).asinh() - m.asinh())


def kernel_value(kernel: tuple[str, float], x: Vector, v: Vector) -> arb:
    """The value of a kernel of the package, in dimensions up to 3."""
    name, parameter = kernel[0], arb(kernel[1])
    cosh = product_of(x, v).max(arb(1))
    distance = cosh.acosh()
    if name in ("CoshKernel", "DistanceKernel"):
        return cosh ** (-parameter) if name == "CoshKernel" else -distance
    if name == "LaplacianKernel":
        return (-parameter * distance).exp()
    ratio = arb(1) if cosh == 1 else distance / distance.sinh()
    return ratio * (-(distance**2) / (4 * parameter)).exp()


@cache
def _stored() -> dict[str, dict[str, Any]]:
    return json.loads(files("hypermargin_studies.problem_set").joinpath("planted.json").read_text(encoding="utf-8"))


def planted_names() -> list[str]:
    """The names of all planted problems, such as ``cone/7``."""
    return list(_stored())


def planted_families() -> list[str]:
    """What the names begin with."""
    return list(dict.fromkeys(name.split("/")[0] for name in _stored()))


def planted(name: str) -> Planted:
    """The planted problem called `name`."""
    if name not in _stored():
        families = ", ".join(planted_families())
        raise ValueError(f"{name!r} names no planted problem; names read cone/7, the families are {families}")
    about: dict[str, Any] = {key: tuple(v) if key in ("noise", "kernel") else v for key, v in _stored()[name].items()}
    return Planted(**about, name=name)
