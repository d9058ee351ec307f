"""Members of linearised sets in the frame of a certificate, for points far from the origin.

``p = x + sum_k z_k image_k`` with the images of the axes under the Jacobian moved to the frame (`frame.FramedSamples`):
the z are in their sets as in `members`, x is rounded in the frame, and every coordinate of an image errs by at most a
number per sample, which ``sum |z_k|`` multiplies. The sum itself has d terms.
"""

import numpy as np
from numpy.typing import NDArray

from hypermargin.arithmetic import UNIT_ROUNDOFF as U
from hypermargin.arrays import Array
from hypermargin.certificates.frame import FramedSamples
from hypermargin.certificates.robust.members import StepMembers
from hypermargin.problems.linearised import image_sizes
from hypermargin.problems.margin import MarginProblem


class ImageMembers(StepMembers):
    """Members in the frame of `samples`; `framed` has the points moved there, around its origin."""

    def __init__(self, framed: MarginProblem, samples: FramedSamples, rows: slice, threshold: float):
        super().__init__(framed, np.eye(1, framed.dim + 1)[0], rows, threshold)
        self.inside = 1.0 - (4 * framed.dim + 64) * U  # lengths err by (d + 8) u
        self.own_noise = self.noise.take(np.arange(framed.n_samples)[rows])
        images, self.image_errors = samples.jacobians(rows)
        self.images, self.sizes = np.ascontiguousarray(np.moveaxis(images, 0, -1)), image_sizes(images)

    def pull_back(self, w: Array, W: Array) -> tuple[Array, Array]:
        pulled = self.images[:, 0] * w[0]
        for j in range(1, w.size):  # in the order of the coordinates, as the solver has it
            pulled += self.images[:, j] * w[j]
        return pulled, self.sizes @ np.abs(w)

    def step_values(self, steps: Array, pulled: Array) -> Array:
        """As the solver has them: images are long, and even what members lie inside their sets would count."""
        return -self.rho * self.own_noise.dual_length(np.ascontiguousarray(pulled.T))

    def push_forward(self, chosen: NDArray[np.intp], z: Array) -> tuple[Array, Array]:
        images, steps = self.images[:, :, chosen], np.abs(z)
        largest = np.sum(steps * np.abs(images).max(axis=1), axis=0)
        error = np.sum(steps, axis=0) * self.image_errors[chosen] + (self.dim + 4) * U * largest
        return np.einsum("kjn,kn->jn", images, z), 1.0001 * error
