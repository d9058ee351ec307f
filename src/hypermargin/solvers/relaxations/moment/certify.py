"""From the answer of a moment relaxation with a ball to a `MomentCertificate`, and what the check of it proves."""

from collections import Counter

import numpy as np

from hypermargin.arrays import Array
from hypermargin.certificates import CertificateError, MomentCertificate
from hypermargin.certificates.moment import Group, Squares
from hypermargin.certificates.moment_ball import Extent
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.relaxations.dual_weights import Samples
from hypermargin.solvers.relaxations.moment.bounding_ball import BoundedFrame
from hypermargin.solvers.relaxations.moment.relaxation import Index, Relaxation

#: The checker's names of the constraints.
KINDS = {
    "moment": "one", "cone": "cone", "ball": "ball", "slack": "slack", "slack range": "range", "margin": "margin"
}  # fmt: skip


def certify_squares(
    problem: MarginProblem,
    samples: Samples,
    frame: BoundedFrame,
    kept: Index,
    missed: Index,
    relaxation: Relaxation,
    grams: tuple[Array, ...],
) -> tuple[MomentCertificate | None, float]:
    """A certificate of the squares and the bound its check proves; (None, -inf) where it proves nothing.

    `kept` are the samples with slacks, `missed` those whose loss is linear in the ball; `grams` are positive
    semidefinite matrices in the order of the blocks.
    """
    originals = np.flatnonzero(samples.used)
    copies = [tuple(originals[samples.inverse == j].tolist()) for j in range(len(samples.costs))]
    certificate = MomentCertificate(
        order=relaxation.order,
        level=frame.level,
        scale=frame.objective_scale,
        centre=frame.centre,
        basis=frame.basis,
        frame=frame.time_axis[1:],
        extents=tuple(_spread(e, samples, problem) for e in frame.extents),
        groups=_groups(problem, frame, [copies[j] for j in kept], kept, relaxation, grams),
        linear=tuple(i for j in missed for i in copies[j]),
    )
    try:
        return certificate, certificate.verify(problem)
    except CertificateError:
        return None, -np.inf


def _spread(e: Extent, samples: Samples, problem: MarginProblem) -> Extent:
    """Weights of merged samples shared out among the originals."""
    return Extent(e.half, e.coordinate, e.sign, e.price, samples.spread(e.weights, problem))


def _groups(
    problem: MarginProblem,
    frame: BoundedFrame,
    copies: list[tuple[int, ...]],
    kept: Index,
    relaxation: Relaxation,
    grams: tuple[Array, ...],
) -> tuple[Group, ...]:
    """The groups of the relaxation, each with the factors of its Gram matrices."""
    n_groups = relaxation.n_groups
    sparse = n_groups == len(copies) and not problem.is_hard
    squares: list[list[Squares]] = [[] for _ in range(n_groups)]
    seen: Counter[tuple[int, str]] = Counter()
    for block, X in zip(relaxation.blocks, grams, strict=True):
        factors = _factors(X / block.divisors[:, None, None])
        for group, factor in zip(block.groups.tolist(), factors, strict=True):
            sample = seen[group, block.name]  # constraints of one name come in the order of the samples
            seen[group, block.name] += 1
            squares[group].append(Squares(KINDS[block.name], sample, factor))
    members = [[j] for j in range(n_groups)] if sparse else [list(range(len(copies)))]
    return tuple(
        Group(
            tuple(copies[j] for j in inside),
            () if problem.is_hard else tuple(float(frame.slack_scale[kept[j]]) for j in inside),
            tuple(found),
        )
        for inside, found in zip(members, squares, strict=True)
    )


def _factors(X: Array) -> list[Array]:
    """F of every matrix with ``F F'`` nearly the matrix; what is negative is left out."""
    values, vectors = np.linalg.eigh(X)
    return [
        (basis * np.sqrt(np.maximum(root, 0.0)))[:, root > 0.0] if np.any(root > 0.0) else np.zeros((len(root), 1))
        for root, basis in zip(values, vectors, strict=True)
    ]
