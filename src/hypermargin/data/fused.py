"""Passes over a graphics card as one kernel each, in the plane and in space (Triton): points are read once.

PyTorch would read and write the memory of the card for every operation; these kernels keep to registers.
"""

from typing import Any

from hypermargin.data.device import DeviceSamples, triton_runs

#: Points of a program are BLOCK times STEPS; dimensions that there are kernels for.
BLOCK, STEPS = 1024, 32
DIMENSIONS: tuple[int, ...] = (2, 3)


def is_available(piece: DeviceSamples) -> bool:
    """Whether there are kernels for these samples."""
    return piece.dim in DIMENSIONS and triton_runs(piece.space)


def partial_sums(kernel: str, piece: DeviceSamples, numbers: Any, columns: int) -> Any:
    """What the programs of a kernel of `triton_kernels` leave: a tensor of the kind of `numbers`, (programs, columns).

    `numbers` is a tensor on the device of the piece: what the kernel must know besides the samples.
    """
    import torch

    from hypermargin.data import triton_kernels

    n = piece.space.shape[0]
    programs = -(-n // (BLOCK * STEPS))
    sums = torch.empty((programs, columns), dtype=numbers.dtype, device=piece.space.device)
    getattr(triton_kernels, kernel)[(programs,)](
        piece.space,
        piece.side,
        piece.space if piece.sample_weight is None else piece.sample_weight,
        numbers,
        sums,
        n,
        piece.space.stride(0),
        piece.space.stride(1),
        piece.side.stride(0),
        D=piece.dim,
        WEIGHTED=piece.sample_weight is not None,
        BLOCK=BLOCK,
        STEPS=STEPS,
        num_warps=8,
    )
    return sums
