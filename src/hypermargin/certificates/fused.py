"""The sums of a check as one kernel of a graphics card: points are read once for all cuts (Triton, d = 2 and 3)."""

import numpy as np

from hypermargin.arrays import Array
from hypermargin.data.device import DeviceSamples, to_numpy

BLOCK = 2048
#: Copies of the table of sums, so that programs do not wait for each other.
SLOTS = 1024


def selected_sums(piece: DeviceSamples, matrix: Array, points: Array, threshold: float, sigma: Array) -> Array:
    """`device._array_sums`: (points, 2 (d + 2) + 3)."""
    import torch

    from hypermargin.data import triton_kernels

    d, n_points = piece.dim, len(points)
    columns = 2 * (d + 2) + 3
    sums = torch.zeros((SLOTS, n_points, columns), dtype=torch.float64, device=piece.space.device)
    weighted = piece.sample_weight is not None
    numbers = piece.array(np.concatenate([[threshold, piece.C if weighted else 1.0], sigma, matrix.ravel()]))
    n = piece.space.shape[0]
    triton_kernels.selected_sums[(-(-n // BLOCK),)](
        piece.space,
        piece.side,
        piece.sample_weight if weighted else piece.space,
        numbers,
        piece.array(points),
        sums,
        n,
        piece.space.stride(0),
        piece.space.stride(1),
        piece.side.stride(0),
        n_points,
        D=d,
        WEIGHTED=weighted,
        BLOCK=BLOCK,
        SLOTS=SLOTS,
        num_warps=16,
        enable_fp_fusion=False,
    )
    return to_numpy(sums.sum(dim=0))
