"""Proof that no hyperplane has all worst-case margins positive: members of the sets that cancel.

If members p_k of the sets of samples i_k have ``sum a_k z'_k = 0`` with all ``a_k > 0``, ``z'_k = y covector(p_k)``, no
w has ``z'_k.w >= 1`` for all of them (Farkas). The certificate names each member as the worst point of a sample's set
at a normal. The check computes it, and the a_k, in ball arithmetic: d + 2 members of R^(d + 1) have one relation.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from flint import arb, arb_mat

from hypermargin.arithmetic import dot, in_arb
from hypermargin.arrays import Array
from hypermargin.certificates.core.certificate import Certificate, CertificateError, require_hard_margin
from hypermargin.problems.linearised import Box, CrossPolytope, Ellipsoid, LinearisedSet
from hypermargin.problems.margin import MarginProblem
from hypermargin.problems.uncertainty import GeodesicBall
from hypermargin.safe_io import as_numbers


@dataclass(frozen=True, eq=False)
class RobustOverlapCertificate(Certificate):
    """Samples, shape (d + 2,), and the normals, shape (d + 2, d + 1), at which their worst points are taken.

    Normals are those of the frame that has the point over the space coordinates `centre` at its origin (None: the
    coordinates of the data). Far out doubles there have digits enough, and are moved in ball arithmetic.
    """

    FORMAT: ClassVar[str] = "hypermargin-robust-overlap-1"

    PROVES: ClassVar[str] = "no hyperplane separates the uncertainty sets of the classes"

    samples: tuple[int, ...]
    normals: Array
    centre: Array | None = None

    def bound_for(self, problem: MarginProblem, *, by_arb: bool = False) -> float:
        """``inf`` (there is no feasible point) if the proof holds, else a `CertificateError`. It is always Arb's."""
        require_hard_margin(problem)
        if len(self.samples) != problem.dim + 2 or self.normals.shape != (problem.dim + 2, problem.dim + 1):
            raise CertificateError(f"the certificate must name {problem.dim + 2} members")
        if not all(0 <= i < problem.n_samples and problem.costs[i] > 0.0 for i in self.samples):
            raise CertificateError("the certificate names samples that the problem does not have")
        if self.centre is not None and self.centre.shape != (problem.dim,):
            raise CertificateError(f"the certificate is not for dimension {problem.dim}")
        with in_arb():
            normals = [_outside([arb(v) for v in w], self.centre) for w in self.normals.tolist()]
            rows = [_member(problem, i, w) for i, w in zip(self.samples, normals, strict=True)]
            columns = arb_mat([[row[k] for row in rows[:-1]] for k in range(problem.dim + 1)])
            right = arb_mat([[-value] for value in rows[-1]])
            try:
                relation = columns.solve(right)
            except ZeroDivisionError:
                raise CertificateError("the members of the certificate do not prove that the sets overlap") from None
            if not all(relation[k, 0] > 0 for k in range(problem.dim + 1)):
                raise CertificateError("the members of the certificate do not prove that the sets overlap")
        return float("inf")

    def _content(self) -> dict[str, Any]:
        moved = {} if self.centre is None else {"centre": self.centre.tolist()}
        return {"samples": list(self.samples), "normals": self.normals.tolist(), **moved}

    @classmethod
    def _from_content(cls, data: dict[str, Any]) -> "RobustOverlapCertificate":
        centre = None if data.get("centre") is None else as_numbers(data["centre"], ndim=1)
        return cls(tuple(int(i) for i in data["samples"]), np.array(data["normals"], dtype=np.float64), centre)


def _outside(w: list[arb], centre: Array | None) -> list[arb]:
    """A normal of the frame in the coordinates of the data: the boost that takes the origin to (T, c)."""
    if centre is None:
        return w
    space = [arb(v) for v in centre.tolist()]
    time = (1 + dot(space, space)).sqrt()
    along = dot(space, w[1:])
    factor = along / (1 + time) + w[0]
    return [time * w[0] + along, *(v + c * factor for v, c in zip(w[1:], space, strict=True))]


def _member(problem: MarginProblem, i: int, normal: list[arb]) -> list[arb]:
    """``y covector(p)`` of the worst point p of sample i at a normal, as balls; exactly a member of the set."""
    noise, y = problem.uncertainty, int(problem.y[i])
    space = [arb(v) for v in problem.X[i, 1:].tolist()]
    x = [(1 + sum((v * v for v in space), arb(0))).sqrt(), *space]
    rho = arb(float(np.broadcast_to(noise.rho, problem.y.shape)[i])) if noise is not None else arb(0)
    if isinstance(noise, GeodesicBall):
        p = _ball_point(rho, y, x, normal)
    elif isinstance(noise, LinearisedSet):
        p = [u + v for u, v in zip(x, _noise(noise, i, rho, y, x, normal), strict=True)]
    else:
        raise CertificateError(f"certificates do not know the uncertainty set {noise!r}")
    return [y * p[0], *[-y * v for v in p[1:]]]


def _ball_point(rho: arb, y: int, x: list[arb], normal: list[arb]) -> list[arb]:
    """The worst point of the ball: the normal itself where it is timelike and in the ball, else on the sphere."""
    product = x[0] * normal[0] - dot(x[1:], normal[1:])
    q = dot(normal[1:], normal[1:]) - normal[0] * normal[0]
    if q < 0 and y * product > 0 and y * product <= (-q).sqrt() * rho.cosh():
        return [y * v / (-q).sqrt() for v in normal]
    tangent = [v - product * u for v, u in zip(normal, x, strict=True)]
    square = dot(tangent[1:], tangent[1:]) - tangent[0] * tangent[0]
    if not square > 0:
        raise CertificateError("a normal of the certificate has no part tangent at its sample")
    across = y * rho.sinh() / square.sqrt()
    return [rho.cosh() * u + across * v for u, v in zip(x, tangent, strict=True)]


def _noise(noise: LinearisedSet, i: int, rho: arb, y: int, x: list[arb], normal: list[arb]) -> list[arb]:
    """``J z`` with the worst z of the set."""
    sinh = dot(x[1:], x[1:]).sqrt()
    at_origin = bool(sinh == 0)
    unit = [arb(0) for _ in x[1:]] if at_origin else [v / sinh for v in x[1:]]
    stretch = arb(1) if at_origin else sinh / sinh.asinh()

    def push(z: list[arb]) -> list[arb]:
        along = dot(unit, z)
        return [sinh * along, *[stretch * v + (x[0] - stretch) * along * n for v, n in zip(z, unit, strict=True)]]

    axes = [[arb(int(j == k)) for j in range(len(unit))] for k in range(len(unit))]
    columns = [push(axis) for axis in axes]
    pulled = [y * (c[0] * normal[0] - dot(c[1:], normal[1:])) for c in columns]
    if isinstance(noise, Box):  # any choice of signs is a corner; which one is worst need not be known for sure
        return push([-rho if float(a) > 0.0 else rho for a in pulled])
    if isinstance(noise, CrossPolytope):
        sizes = [abs(float(a)) for a in pulled]
        largest = sizes.index(max(sizes))
        return push(
            [(-rho if float(pulled[largest]) > 0.0 else rho) if k == largest else arb(0) for k in range(len(sizes))]
        )
    if isinstance(noise, Ellipsoid):
        shape = noise.shape[i] if noise.shape.ndim == 3 else noise.shape
        matrix = [[arb(v) for v in row] for row in shape.tolist()]
        turned = _shortened([dot([row[k] for row in matrix], pulled) for k in range(len(pulled))])
        return push([rho * dot(row, turned) for row in matrix])
    return push([rho * v for v in _shortened(pulled)])


def _shortened(a: list[arb]) -> list[arb]:
    """``-a/|a|``; the balls contain a vector of length 1 exactly, that of the exact a."""
    length = dot(a, a).sqrt()
    if not length > 0:
        raise CertificateError("a normal of the certificate names no direction of its set")
    return [-v / length for v in a]
