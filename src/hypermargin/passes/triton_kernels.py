"""Kernels for graphics cards, compiled by Triton where it is installed (it comes with PyTorch for CUDA).

Each program takes a block of points, makes the covectors of the frame in registers and leaves partial sums. Numbers are
passed in arrays: scalar arguments of kernels would be rounded to single precision.
"""

import triton
import triton.language as tl


@triton.jit
def hinge(
    space, side, weight, numbers, sums, n, row, column, side_row,
    D: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Risk, offset and slope of the cut at one w: sums of ``(loss, c, c y x)`` per program."""
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    threshold = tl.load(numbers)
    a0, a1, a2 = tl.load(numbers + 1), tl.load(numbers + 2), tl.load(numbers + 3)
    a3 = tl.load(numbers + 1 + D)
    risk = tl.zeros((BLOCK,), tl.float64)
    b, s0, s1, s2, s3 = risk, risk, risk, risk, risk
    for step in range(STEPS):
        i = (program * STEPS + step) * BLOCK + lanes
        inside = i < n
        y = tl.load(side + i * side_row, mask=inside, other=0).to(tl.float64)
        x1 = tl.load(space + i * row, mask=inside, other=0.0)
        x2 = tl.load(space + i * row + column, mask=inside, other=0.0)
        square = 1.0 + x1 * x1 + x2 * x2
        if D == 3:
            x3 = tl.load(space + i * row + 2 * column, mask=inside, other=0.0)
            square += x3 * x3
        x0 = tl.sqrt(square)
        margin = a0 * x0 + a1 * x1 + a2 * x2
        if D == 3:
            margin += a3 * x3
        margin *= y
        cost = tl.abs(y)
        if WEIGHTED:
            cost *= tl.load(weight + i, mask=inside, other=0.0)
        risk += cost * tl.maximum(1.0 - margin, 0.0)
        cost = tl.where(margin < threshold, cost, 0.0)
        b += cost
        cost *= y
        s0 += cost * x0
        s1 += cost * x1
        s2 += cost * x2
        if D == 3:
            s3 += cost * x3
    out = sums + program * (D + 3)
    tl.store(out, tl.sum(risk, 0))
    tl.store(out + 1, tl.sum(b, 0))
    tl.store(out + 2, tl.sum(s0, 0))
    tl.store(out + 3, tl.sum(s1, 0))
    tl.store(out + 4, tl.sum(s2, 0))
    if D == 3:
        tl.store(out + 5, tl.sum(s3, 0))


@triton.jit
def selected_sums(
    space, side, weight, numbers, points, sums, n, row, column, side_row, n_points,
    D: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """High parts, low parts, ``c x0`` and counts of the samples that each cut takes, added to one of several tables."""
    program = tl.program_id(0).to(tl.int64)
    i = program * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    threshold, C = tl.load(numbers), tl.load(numbers + 1)
    powers, frame = numbers + 2, numbers + 4 + D
    y = tl.load(side + i * side_row, mask=inside, other=0).to(tl.float64)
    x1 = tl.load(space + i * row, mask=inside, other=0.0)
    x2 = tl.load(space + i * row + column, mask=inside, other=0.0)
    square = 1.0 + x1 * x1 + x2 * x2
    if D == 3:
        x3 = tl.load(space + i * row + 2 * column, mask=inside, other=0.0)
        square += x3 * x3
    x0 = tl.sqrt(square)
    cost = tl.abs(y)
    if WEIGHTED:
        cost *= C * tl.load(weight + i, mask=inside, other=0.0)
    K: tl.constexpr = D + 1
    z0 = x0 * tl.load(frame) + x1 * tl.load(frame + K) + x2 * tl.load(frame + 2 * K)
    z1 = x0 * tl.load(frame + 1) + x1 * tl.load(frame + K + 1) + x2 * tl.load(frame + 2 * K + 1)
    z2 = x0 * tl.load(frame + 2) + x1 * tl.load(frame + K + 2) + x2 * tl.load(frame + 2 * K + 2)
    if D == 3:
        z0 += x3 * tl.load(frame + 3 * K)
        z1 += x3 * tl.load(frame + 3 * K + 1)
        z2 += x3 * tl.load(frame + 3 * K + 2)
        z3 = x0 * tl.load(frame + 3) + x1 * tl.load(frame + K + 3) + x2 * tl.load(frame + 2 * K + 3)
        z3 += x3 * tl.load(frame + 3 * K + 3)
    z0, z1, z2 = y * z0, y * z1, y * z2
    # Each term as a high part, a multiple of a power of two whose sums are exact, and the rest.
    p0, p1 = tl.load(powers), tl.load(powers + 1)
    h = (cost + p0) - p0
    h0, h1, h2 = (cost * z0 + p1) - p1, (cost * z1 + p1) - p1, (cost * z2 + p1) - p1
    r, r0, r1, r2 = cost - h, cost * z0 - h0, cost * z1 - h1, cost * z2 - h2
    if D == 3:
        z3 = y * z3
        h3 = (cost * z3 + p1) - p1
        r3 = cost * z3 - h3
    reach = cost * x0
    below = tl.where(y < 0.0, 1.0, 0.0).to(tl.float64)
    above = tl.where(y > 0.0, 1.0, 0.0).to(tl.float64)
    table = sums + (program % SLOTS) * n_points * (2 * D + 7)
    for j in range(n_points):
        w = points + j * K
        margin = z0 * tl.load(w) + z1 * tl.load(w + 1) + z2 * tl.load(w + 2)
        if D == 3:
            margin += z3 * tl.load(w + 3)
        # Samples that are not taken count 0 in all sums; products with 0 and 1 are exact.
        taken = tl.where((margin < threshold) & inside, 1.0, 0.0).to(tl.float64)
        out = table + j * (2 * D + 7)
        tl.atomic_add(out, tl.sum(taken * h, 0))
        tl.atomic_add(out + 1, tl.sum(taken * h0, 0))
        tl.atomic_add(out + 2, tl.sum(taken * h1, 0))
        tl.atomic_add(out + 3, tl.sum(taken * h2, 0))
        low = out + D + 2
        tl.atomic_add(low, tl.sum(taken * r, 0))
        tl.atomic_add(low + 1, tl.sum(taken * r0, 0))
        tl.atomic_add(low + 2, tl.sum(taken * r1, 0))
        tl.atomic_add(low + 3, tl.sum(taken * r2, 0))
        if D == 3:
            tl.atomic_add(out + 4, tl.sum(taken * h3, 0))
            tl.atomic_add(low + 4, tl.sum(taken * r3, 0))
        beside = out + 2 * (D + 2)
        tl.atomic_add(beside, tl.sum(taken * reach, 0))
        tl.atomic_add(beside + 1, tl.sum(taken * below, 0))
        tl.atomic_add(beside + 2, tl.sum(taken * above, 0))
