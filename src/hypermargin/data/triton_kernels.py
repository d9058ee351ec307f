"""Kernels for graphics cards, compiled by Triton where it is installed (it comes with PyTorch for CUDA).

Each program takes some points, reads each of them once and leaves a row of partial sums (see `device.partial_sums`).
Numbers are passed in arrays: scalar arguments of kernels would be rounded to single precision.
"""

import triton
import triton.language as tl


@triton.jit
def _point(space, i, inside, row, column, D: tl.constexpr):
    """The coordinates of the points i; those of the plane have their second space coordinate again as third."""
    x1 = tl.load(space + i * row, mask=inside, other=0.0)
    x2 = tl.load(space + i * row + column, mask=inside, other=0.0)
    x3 = x2
    square = 1.0 + x1 * x1 + x2 * x2
    if D == 3:
        x3 = tl.load(space + i * row + 2 * column, mask=inside, other=0.0)
        square += x3 * x3
    return tl.sqrt(square), x1, x2, x3


@triton.jit
def _product(x0, x1, x2, x3, a, stride: tl.constexpr, D: tl.constexpr):
    """Scalar products of the points with D + 1 numbers, `stride` places apart."""
    product = x0 * tl.load(a) + x1 * tl.load(a + stride) + x2 * tl.load(a + 2 * stride)
    if D == 3:
        product += x3 * tl.load(a + 3 * stride)
    return product


@triton.jit
def hinge(
    space, side, weight, numbers, sums, n, row, column, side_row,
    D: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Risk, offset and slope of the cut at one w: sums of ``(loss, c, c y x)`` per program.

    `numbers` are the threshold and the D + 1 entries of the normal.
    """
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    threshold = tl.load(numbers)
    risk = tl.zeros((BLOCK,), tl.float64)
    b, s0, s1, s2, s3 = risk, risk, risk, risk, risk
    for step in range(STEPS):
        i = (program * STEPS + step) * BLOCK + lanes
        inside = i < n
        y = tl.load(side + i * side_row, mask=inside, other=0).to(tl.float64)
        x0, x1, x2, x3 = _point(space, i, inside, row, column, D)
        margin = y * _product(x0, x1, x2, x3, numbers + 1, 1, D)
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
def extent(
    space, side, weight, numbers, sums, n, row, column, side_row,
    D: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Samples, positive ones, weight and ``c x`` summed up, then the largest x0, the largest and the least weight."""
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    count = tl.zeros((BLOCK,), tl.float64)
    positive, total, s0, s1, s2, s3 = count, count, count, count, count, count
    farthest, heaviest, lightest = count, count, count + float("inf")
    for step in range(STEPS):
        i = (program * STEPS + step) * BLOCK + lanes
        inside = i < n
        y = tl.load(side + i * side_row, mask=inside, other=0).to(tl.float64)
        x0, x1, x2, x3 = _point(space, i, inside, row, column, D)
        used = tl.abs(y)
        cost = used
        if WEIGHTED:
            cost *= tl.load(weight + i, mask=inside, other=0.0)
        count += used
        positive += tl.where(y > 0.0, used, 0.0)
        total += cost
        s0 += cost * x0
        s1 += cost * x1
        s2 += cost * x2
        if D == 3:
            s3 += cost * x3
        farthest = tl.maximum(farthest, used * x0)
        heaviest = tl.maximum(heaviest, cost)
        lightest = tl.minimum(lightest, tl.where(cost > 0.0, cost, float("inf")))
    out = sums + program * (D + 7)
    tl.store(out, tl.sum(count, 0))
    tl.store(out + 1, tl.sum(positive, 0))
    tl.store(out + 2, tl.sum(total, 0))
    tl.store(out + 3, tl.sum(s0, 0))
    tl.store(out + 4, tl.sum(s1, 0))
    tl.store(out + 5, tl.sum(s2, 0))
    if D == 3:
        tl.store(out + 6, tl.sum(s3, 0))
    tl.store(out + D + 4, tl.max(farthest, 0))
    tl.store(out + D + 5, tl.max(heaviest, 0))
    tl.store(out + D + 6, tl.min(lightest, 0))


@triton.jit
def enclosed_risk(
    space, side, weight, numbers, sums, n, row, column, side_row,
    D: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Lower and upper sums of the losses at a normal, and the least margin less its error.

    `numbers`: C, the error of a margin for each unit of x0, the normal and the error factors of its entries in the
    frame, the matrix of the frame.
    """
    K: tl.constexpr = D + 1
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    C, reach = tl.load(numbers), tl.load(numbers + 1)
    lower = tl.zeros((BLOCK,), tl.float64)
    upper, least = lower, lower + float("inf")
    for step in range(STEPS):
        i = (program * STEPS + step) * BLOCK + lanes
        inside = i < n
        y = tl.load(side + i * side_row, mask=inside, other=0).to(tl.float64)
        x0, x1, x2, x3 = _point(space, i, inside, row, column, D)
        margin = tl.zeros((BLOCK,), tl.float64)
        error = reach * x0
        for j in tl.static_range(K):
            z = y * _product(x0, x1, x2, x3, numbers + 2 + 2 * K + j, K, D)
            margin += z * tl.load(numbers + 2 + j)
            error += tl.abs(z) * tl.load(numbers + 2 + K + j)
        error = 1.0000001 * error + 1e-15 * (1.0 + tl.abs(margin))
        cost = C * tl.abs(y)
        if WEIGHTED:
            cost *= tl.load(weight + i, mask=inside, other=0.0)
        above = (1.0 - margin) + error
        below = (1.0 - margin) - error
        upper += cost * tl.where(above <= 0.0, 0.0, above)  # what is no number is not left out
        lower += cost * tl.where(below > 0.0, below, 0.0)
        least = tl.minimum(least, tl.where(cost > 0.0, margin - error, float("inf")))
    out = sums + program * 3
    tl.store(out, tl.sum(lower, 0))
    tl.store(out + 1, tl.sum(upper, 0))
    tl.store(out + 2, tl.min(least, 0))


@triton.jit
def _mixed(hashes, word, numbers):
    """One more word in the hashes (`certificates.fingerprints`)."""
    hashes = (hashes ^ word) * tl.load(numbers)
    return hashes ^ ((hashes >> 32) & tl.load(numbers + 2))


@triton.jit
def _finished(hashes, numbers):
    hashes = hashes * tl.load(numbers + 1)
    return hashes ^ ((hashes >> 29) & tl.load(numbers + 3))


@triton.jit
def _word(values):
    """The bits of doubles; 0 and -0 are the same number."""
    return tl.where(values == 0.0, 0.0, values).to(tl.float64).to(tl.int64, bitcast=True)


@triton.jit
def fingerprints(
    space, side, weight, numbers, sums, n, row, column, side_row,
    D: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Sums of the hashes of points, of points and labels, and of these with weights; and how many weights are not 1.

    `numbers` are the two multipliers and the two masks, integers like the sums.
    """
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    of_points = tl.zeros((BLOCK,), tl.int64)
    of_labels, of_weights, others = of_points, of_points, of_points
    for step in range(STEPS):
        i = (program * STEPS + step) * BLOCK + lanes
        inside = i < n
        y = tl.load(side + i * side_row, mask=inside, other=0).to(tl.int64)
        used = tl.where(y != 0, 1, 0).to(tl.int64)
        _, x1, x2, x3 = _point(space, i, inside, row, column, D)
        start = tl.zeros((BLOCK,), tl.int64) + tl.load(numbers)
        hashes = _mixed(_mixed(start, _word(x1), numbers), _word(x2), numbers)
        if D == 3:
            hashes = _mixed(hashes, _word(x3), numbers)
        hashes = _finished(hashes, numbers)
        of_points += used * hashes
        hashes = _finished(_mixed(_mixed(start, hashes, numbers), y, numbers), numbers)
        of_labels += used * hashes
        cost = tl.zeros((BLOCK,), tl.float64) + 1.0
        if WEIGHTED:
            cost = tl.load(weight + i, mask=inside, other=1.0)
        hashes = _finished(_mixed(_mixed(start, hashes, numbers), _word(cost), numbers), numbers)
        of_weights += used * hashes
        others += tl.where(cost != 1.0, used, 0)
    out = sums + program * 4
    tl.store(out, tl.sum(of_points, 0))
    tl.store(out + 1, tl.sum(of_labels, 0))
    tl.store(out + 2, tl.sum(of_weights, 0))
    tl.store(out + 3, tl.sum(others, 0))


@triton.jit
def selected_sums(
    space, side, weight, numbers, points, sums, n, row, column, side_row, n_points,
    D: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """High parts, low parts, ``c x0`` and counts of the samples that each cut takes, added to one of several tables."""
    program = tl.program_id(0).to(tl.int64)
    i = program * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    K: tl.constexpr = D + 1
    threshold, C = tl.load(numbers), tl.load(numbers + 1)
    powers, frame = numbers + 2, numbers + 4 + D
    y = tl.load(side + i * side_row, mask=inside, other=0).to(tl.float64)
    x0, x1, x2, x3 = _point(space, i, inside, row, column, D)
    cost = tl.abs(y)
    if WEIGHTED:
        cost *= C * tl.load(weight + i, mask=inside, other=0.0)
    z0 = y * _product(x0, x1, x2, x3, frame, K, D)
    z1 = y * _product(x0, x1, x2, x3, frame + 1, K, D)
    z2 = y * _product(x0, x1, x2, x3, frame + 2, K, D)
    # Each term as a high part, a multiple of a power of two whose sums are exact, and the rest.
    p0, p1 = tl.load(powers), tl.load(powers + 1)
    h = (cost + p0) - p0
    h0, h1, h2 = (cost * z0 + p1) - p1, (cost * z1 + p1) - p1, (cost * z2 + p1) - p1
    r, r0, r1, r2 = cost - h, cost * z0 - h0, cost * z1 - h1, cost * z2 - h2
    if D == 3:
        z3 = y * _product(x0, x1, x2, x3, frame + 3, K, D)
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
