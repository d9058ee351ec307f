"""The samples of a problem in the frame of a certificate, and how far they may be from the exact ones.

The exact points are ``(sqrt(1 + |xr|^2), xr)`` for the doubles xr of the problem; the frame is the boost that takes the
point ``(T, c)`` to the origin, for the doubles c of the certificate. With u = 2^-53, x0 rounded by (d/2 + 2) u, entries
of the matrix by 6 u and sums of d + 1 products, an image computed in doubles errs by at most

    (2 d + 16) u |x| |row of the matrix| <= (2 d + 16) u sqrt2 x0 (T + |c|)

in every coordinate. In many dimensions the boost is applied by its formula, ``(T x0 - c.xr, -(xr - c s))`` with
``s = x0 - c.xr/(1 + T)``, which errs by less: with T rounded as x0 is, ``c.xr`` errs by ``d u |c| x0``, the first
coordinate by ``(d + 7) u (T + |c|) x0``, s by ``(2 d + 8) u x0`` since ``|c| < 1 + T``, and the others by
``(2 d + 12) u (T + |c|) x0``. In double-double arithmetic it is the exact image rounded once, after an error of at most
``(256 d + 1024) u^2 T x0`` (`geometry.compiled.double_double`).
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arrays import Array
from hypermargin.geometry.compiled.frames import frame_entry as enter_frame
from hypermargin.geometry.isometries import (
    MATRIX_UP_TO,
    frame_entry,
    move_to_origin_precisely,
    translation_to_origin,
)
from hypermargin.geometry.lorentz import covector, origin
from hypermargin.problems.linearised import OriginJacobian, framed_jacobians
from hypermargin.problems.margin import MarginProblem


@dataclass(frozen=True, eq=False)
class FramedSamples:
    """Rows whose products with `matrix`, times the label, are the covectors z_i of the frame, up to stated errors.

    Coordinates of the exact z_i are within ``roundings |z_ij| + reach_factor x_i0`` of those computed.
    """

    problem: MarginProblem
    centre: Array
    precise: bool = False

    @cached_property
    def _kept(self) -> tuple[Array, float, Array]:
        return _point_stretch_and_entry(np.ascontiguousarray(self.centre, dtype=np.float64).tobytes())

    @property
    def point(self) -> Array:
        return self._kept[0]

    @property
    def rows(self) -> Array:
        """Shape (n, d + 1)."""
        return self._moved if self.precise else np.ascontiguousarray(self.problem.X)

    @cached_property
    def _moved(self) -> Array:
        return np.ascontiguousarray(move_to_origin_precisely(self.problem.X, self.point))

    @cached_property
    def matrix(self) -> Array:
        """Shape (d + 1, d + 1); in double-double the rows are moved already, and only signs are left."""
        size = self.problem.dim + 1
        moving = np.eye(size) if self.precise else translation_to_origin(self.point)
        return np.ascontiguousarray(covector(moving.T))

    @property
    def entry(self) -> Array:
        """As `matrix`, but in many dimensions the point that a boost takes to the origin (`frame_entry`)."""
        return frame_entry(origin(self.problem.dim)) if self.precise else self._kept[2]

    @property
    def reaches(self) -> Array:
        """The time coordinates x_i0, shape (n,)."""
        return self.problem.X[:, 0]

    @property
    def stretch(self) -> float:
        """An upper bound of ``T + |c|``, the most by which the boost lengthens a vector."""
        return self._kept[1]

    @property
    def roundings(self) -> float:
        return U if self.precise else 0.0

    @property
    def reach_factor(self) -> float:
        d = self.problem.dim
        return 1.0001 * self.stretch * ((256 * d + 1024) * U * U if self.precise else 1.5 * (2 * d + 16) * U)

    def jacobians(self, part: slice) -> tuple[Array, Array]:
        """Covectors of the images of the axes under the Jacobians of exp_0, (rows, d, d + 1), and bounds on errors.

        An image is the sum of a radial part ``n_k R`` and one across; as ``R = sum_k n_k image_k``, none of the two is
        longer than ``1 + sqrt(d)`` times the largest image. To that is relative what rounding and the errors of the
        stretches, at most ``(2 d + 24) u``, come to. Double-double arithmetic errs before, relative to the terms of a
        boost: parts are at most ``x0`` and ``stretch`` long, and ``T + |c|`` times that after it.
        """
        X, d = self.problem.X[part], self.problem.dim
        images = framed_jacobians(X, self.centre)
        stretches = OriginJacobian.at(X).stretch
        absolute = (512 * d + 4096) * U * U * self.stretch * (X[:, 0] + stretches)
        longest = (1.0 + d**0.5) * np.abs(images).max(axis=(1, 2)) + stretches
        return images, 1.0001 * (absolute + (2 * d + 32) * U * longest)

    def covectors(self, part: slice | NDArray[np.intp]) -> Array:
        """The computed z_i of some samples, shape (rows, d + 1)."""
        return self.problem.covectors_around(self.point, part, self.precise)


@lru_cache(maxsize=4)
def _point_stretch_and_entry(centre: bytes) -> tuple[Array, float, Array]:
    """`FramedSamples.point`, `stretch` and `entry` for the coordinates `centre`.

    A solution is checked and its objective recomputed in one frame after the other, which small problems would notice.
    """
    space = np.frombuffer(centre)
    point, entry = enter_frame(space, MATRIX_UP_TO)
    for array in (point, entry):
        array.flags.writeable = False
    return point, 1.0001 * (float(point[0]) + float(np.sqrt(space @ space))), entry
