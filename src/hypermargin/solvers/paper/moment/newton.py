"""The linear algebra of the interior-point method: batches of small matrices, in array-API code for any library.

Moments of a group come in the order private, shared, constant. Only `take`, `matmul`, Cholesky factors and elementwise
operations are used, so NumPy, PyTorch (processor and GPU) and array-api-strict run the same code.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hypermargin.solvers.paper.moment.relaxation import Block, Index, Relaxation

#: Bytes of the largest temporary array of an assembly. On a processor it should stay in the cache (2^20 to 2^24 take
#: the same time within 10 %, 2^26 a fifth more); an accelerator would spend its time on launching small calls.
CHUNK_BYTES, ACCELERATOR_CHUNK_BYTES = 2**22, 2**30
#: What is added to a unit diagonal, some 50 units of rounding, so that Cholesky does not meet zero.
NUDGE = 1e-14
#: One-hot matrices of up to this many entries multiply as fast as `SumByTarget` gathers (2^14: moments of 4 variables).
LARGEST_ONE_HOT = 2**14


# -- batches of matrices -----------------------------------------------------------------------------------------------


def symmetric(matrices: Any, xp: Any) -> Any:
    """``(A + A')/2`` of a batch."""
    return 0.5 * (matrices + xp.permute_dims(matrices, (0, 2, 1)))


def transposed(matrices: Any, xp: Any) -> Any:
    """``A'`` of a batch."""
    return xp.permute_dims(matrices, (0, 2, 1))


def inverse_root(matrices: Any, xp: Any) -> Any:
    """Inverses of the lower Cholesky factors of a batch, or a LinAlgError where one is not positive definite."""
    lower = xp.linalg.cholesky(matrices)
    size = lower.shape[-1]
    if hasattr(xp.linalg, "solve_triangular"):  # it is not in the array API, but PyTorch has it
        identity = xp.eye(size, dtype=lower.dtype, device=lower.device)
        return xp.linalg.solve_triangular(lower, xp.broadcast_to(identity, lower.shape), upper=False)
    diagonal = 1.0 / xp.linalg.diagonal(lower)
    rows = -lower * diagonal[:, :, None]
    inverse = xp.zeros_like(lower)
    for i in range(size):  # forward substitution, all matrices at once: four times faster than NumPy's `inv`
        if i:
            inverse[:, i : i + 1, :i] = xp.matmul(rows[:, i : i + 1, :i], inverse[:, :i, :i])
        inverse[:, i, i] = diagonal[:, i]
    return inverse


def inverses(S: list[Any], xp: Any) -> list[Any]:
    """``S^-1`` block by block, or a LinAlgError where S is not positive definite."""
    roots = [inverse_root(Sk, xp) for Sk in S]
    return [xp.matmul(transposed(R, xp), R) for R in roots]


def sandwich(X: Any, M: Any, S_inverse: Any, xp: Any) -> Any:
    """The symmetric part of ``X M S^-1`` of one block, M symmetric."""
    return symmetric(xp.matmul(xp.matmul(X, M), S_inverse), xp)


def longest_step(S: list[Any], step: list[Any], fraction: float, accuracy: float, xp: Any) -> float:
    """`fraction` of the way to where ``S + a step`` leaves the cone, at most 1, and less by up to `accuracy`.

    Bisection by Cholesky factorisations, each a tenth of the time of eigenvalues, the block last found outside first.
    """
    blocks = list(zip(S, step, strict=True))

    def stays(a: float) -> bool:
        for k, (M, D) in enumerate(blocks):
            if not is_definite(M + a * D, xp):
                blocks.insert(0, blocks.pop(k))
                return False
        return True

    low, high = 0.0, 1.0 / fraction
    if stays(high):
        return 1.0
    while high - low > accuracy * high and high > 1e-12:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stays(middle) else (low, middle)
    return fraction * low


def is_definite(matrices: Any, xp: Any) -> bool:
    """Whether all matrices of a batch are positive definite."""
    try:
        xp.linalg.cholesky(matrices)
    except (ValueError, RuntimeError) as error:
        if not is_linalg_error(error):
            raise
        return False
    return True


def is_linalg_error(error: Exception) -> bool:
    """Whether this is the LinAlgError of NumPy (a ValueError) or of PyTorch (a RuntimeError)."""
    return "LinAlgError" in type(error).__name__


def positive(diagonal: Any, xp: Any) -> Any:
    """The diagonal of a positive definite matrix, or the error that a Cholesky factorisation would raise."""
    if not bool(xp.all(diagonal > 0.0)):
        raise np.linalg.LinAlgError("rounding has made the Newton matrix indefinite")
    return diagonal


def nudged(matrices: Any, xp: Any) -> Any:
    """Matrices with unit diagonal, the diagonal raised by `NUDGE`."""
    return matrices + NUDGE * xp.eye(matrices.shape[-1], dtype=matrices.dtype, device=matrices.device)


class SumByTarget:
    """Sums of the entries of the last axis that have the same target: a product with a one-hot matrix.

    Where that is large its entries are gathered instead, the k-th of all targets together: ten times faster for the
    moment matrices of 8 variables, four times for those of 4 and order 3.
    """

    def __init__(self, targets: Index, n_targets: int, xp: Any, device: Any) -> None:
        self._xp, self._one_hot = xp, None
        if len(targets) * n_targets <= LARGEST_ONE_HOT:
            one_hot = np.zeros((len(targets), n_targets))
            one_hot[np.arange(len(targets)), targets] = 1.0
            self._one_hot = xp.asarray(one_hot, device=device)
            return
        counts = np.bincount(targets, minlength=n_targets)
        most_first = np.argsort(-counts, kind="stable")
        entries, starts = np.argsort(targets, kind="stable"), np.concatenate(([0], np.cumsum(counts)))
        self._gather = [
            xp.asarray(entries[starts[most_first[: np.sum(counts > k)]] + k], device=device)
            for k in range(int(counts.max(initial=0)))
        ]
        self._empty, self._order = int(np.sum(counts == 0)), xp.asarray(np.argsort(most_first), device=device)

    def __call__(self, values: Any) -> Any:
        xp, axis = self._xp, values.ndim - 1
        if self._one_hot is not None:
            return xp.matmul(values, self._one_hot)
        sums = xp.take(values, self._gather[0], axis=axis)
        for entries in self._gather[1:]:
            sums[..., : entries.shape[0]] += xp.take(values, entries, axis=axis)
        nothing = xp.zeros((*values.shape[:-1], self._empty), dtype=values.dtype, device=values.device)
        return xp.take(xp.concat((sums, nothing), axis=axis), self._order, axis=axis)


# -- the linear maps of a relaxation -----------------------------------------------------------------------------------


class HankelPattern:
    """Products ``tr(E_c X E_d S^-1)`` for c among `rows`, d among `columns`, and monomials of the basis among `basis`.

    E_c has a one wherever two monomials of the basis multiply to the monomial c. So ``X E_c`` is X with its columns
    moved, and the trace with E_d sums entries.
    """

    def __init__(self, hankel: Index, rows: Index, columns: Index, basis: Index, xp: Any, device: Any) -> None:
        size, r = hankel.shape[0], len(basis)
        sums = hankel[np.ix_(basis, basis)]
        place = np.full(int(hankel.max()) + 1, -1)
        place[rows] = np.arange(len(rows))
        # partner[c, b]: the monomial a with a + b = c, or r (a column of zeros) where there is none.
        partner = np.full((len(rows), r), r)
        for a in range(r):
            known = place[sums[a]] >= 0
            partner[place[sums[a][known]], np.flatnonzero(known)] = a
        target = np.full(int(hankel.max()) + 1, len(columns))
        target[columns] = np.arange(len(columns))
        self._xp, self._r, self._n_rows, self._n_columns = xp, r, len(rows), len(columns)
        self._sum = SumByTarget(target[sums.ravel()], len(columns) + 1, xp, device)
        gather = np.arange(r)[None, :, None] * (r + 1) + partner[:, None, :]
        self._gather = xp.asarray(gather.ravel(), device=device)
        inner = (basis[:, None] * size + basis[None, :]).ravel()
        self._inner = None if r == size else xp.asarray(inner, device=device)

    def products(self, X: Any, S_inverse: Any) -> Any:
        """Shape (k, size, size) twice to (k, rows, columns)."""
        xp, r, count = self._xp, self._r, X.shape[0]
        if self._inner is not None:
            X, S_inverse = (
                xp.reshape(xp.take(xp.reshape(M, (count, -1)), self._inner, axis=1), (count, r, r))
                for M in (X, S_inverse)
            )
        padded = xp.concat((X, xp.zeros((count, r, 1), dtype=X.dtype, device=X.device)), axis=2)
        padded = xp.reshape(padded, (count, r * (r + 1)))
        moved = xp.reshape(xp.take(padded, self._gather, axis=1), (count, self._n_rows * r, r))
        product = xp.reshape(xp.matmul(moved, S_inverse), (count, self._n_rows, r * r))
        return self._sum(product)[:, :, : self._n_columns]


class BlockOperator:
    """One block's map from moments to matrices, its adjoint, and its part of the Newton matrix."""

    def __init__(self, block: Block, position: Index, n_groups: int, n_private: int, xp: Any, device: Any) -> None:
        self.xp, self.size, self.copies, self.name = xp, block.size, block.copies, block.name
        self.identity_groups = block.copies == n_groups and bool(np.all(block.groups == np.arange(n_groups)))
        self.groups, self.n_groups, self.n_private = block.groups, n_groups, n_private
        self.n_localised, self.n_terms, self.n_moments = *block.shift.shape, len(position)
        shift, hankel, n_localised = position[block.shift], block.hankel, self.n_localised
        # The moment matrix: its localised moments are the moments themselves, so take them in this order.
        self.is_plain = self.n_terms == 1 and bool(np.all(block.coefficients == 1.0)) and n_localised == len(position)
        if self.is_plain:
            hankel, shift = shift[hankel, 0], np.arange(n_localised)[:, None]
        self._hankel = xp.asarray(hankel.ravel(), device=device)
        self._shift = xp.asarray(shift.ravel(), device=device)
        self._group_index = xp.asarray(block.groups, device=device)
        self._sum_entries = SumByTarget(hankel.ravel(), n_localised, xp, device)
        self._sum_terms = SumByTarget(shift.ravel(), len(position), xp, device)
        self.coefficients = xp.asarray(np.ascontiguousarray(block.coefficients), device=device)
        self._patterns = self._make_patterns(hankel, xp, device)
        if not self.is_plain:
            one_hot = np.zeros((self.n_terms, n_localised, len(position)))
            for p in range(self.n_terms):
                one_hot[p, np.arange(n_localised), shift[:, p]] = 1.0
            inner = np.ascontiguousarray(one_hot[:, :, :-1]).reshape(self.n_terms, -1)
            self._one_hot = xp.asarray(inner, device=device)
            # A constraint that is the same in all groups, as that of the ball, needs one localiser.
            same = bool(np.all(block.coefficients == block.coefficients[:1]))
            self._localiser = self._localisers(slice(0, 1)) if same else None

    def matrices(self, z: Any) -> Any:
        """Moments (N, S) to matrices (copies, r, r)."""
        xp = self.xp
        y = z if self.identity_groups else xp.take(z, self._group_index, axis=0)
        if not self.is_plain:
            shifted = xp.reshape(xp.take(y, self._shift, axis=1), (self.copies, self.n_localised, self.n_terms))
            y = xp.matmul(shifted, self.coefficients[:, :, None])[:, :, 0]
        return xp.reshape(xp.take(y, self._hankel, axis=1), (self.copies, self.size, self.size))

    def adjoint(self, X: Any) -> Any:
        """Matrices (copies, r, r) to coefficients (N, S)."""
        xp = self.xp
        y = self._sum_entries(xp.reshape(X, (self.copies, -1)))
        if self.is_plain:
            return y
        terms = self._sum_terms(xp.reshape(y[:, :, None] * self.coefficients[:, None, :], (self.copies, -1)))
        if self.identity_groups:
            return terms
        out = xp.zeros((self.n_groups, self.n_moments), dtype=X.dtype, device=X.device)
        for group, rows in self.by_group(0, self.n_groups):
            out[group, :] = xp.sum(terms[rows, :], axis=0)
        return out

    def copies_of(self, start: int, stop: int) -> slice:
        """Which of this block's matrices belong to groups start to stop."""
        if self.identity_groups:
            return slice(start, stop)
        return slice(int(np.searchsorted(self.groups, start)), int(np.searchsorted(self.groups, stop)))

    def by_group(self, start: int, stop: int) -> list[tuple[int, slice]]:
        """The groups from start to stop that have copies, and which."""
        return [
            (int(group), self.copies_of(int(group), int(group) + 1))
            for group in np.unique(self.groups[self.copies_of(start, stop)])
        ]

    def _make_patterns(self, hankel: Index, xp: Any, device: Any) -> list[HankelPattern]:
        """One pattern of all localised moments; for the moment matrix one of private and one of shared rows.

        Shared moments are products of shared monomials only, so the second is much smaller than its part of the whole.
        """
        every, basis = np.arange(self.n_localised), np.arange(self.size)
        if not self.is_plain:
            return [HankelPattern(hankel, every, every, basis, xp, device)]
        private, shared = every[: self.n_private], every[self.n_private : -1]
        patterns = [HankelPattern(hankel, private, every[:-1], basis, xp, device)]
        if len(shared):
            # The basis begins with 1, so row 0 of its products is the basis itself.
            shared_basis = np.flatnonzero(hankel[0] >= self.n_private)
            patterns.append(HankelPattern(hankel, shared, shared, shared_basis, xp, device))
        return patterns

    def plain_newton(self, X: Any, S_inverse: Any) -> tuple[Any, Any]:
        """Private rows of the Newton matrices (k, P, S - 1) of the moment matrix, and the sum of the shared parts."""
        private, *shared = (pattern.products(X, S_inverse) for pattern in self._patterns)
        return private, self.xp.sum(shared[0], axis=0) if shared else 0.0

    def localised_newton(self, X: Any, S_inverse: Any, copies: slice) -> tuple[Any, Any]:
        """L and ``H L`` of some copies: their Newton matrices are ``L' H L``, H those of localised moments."""
        xp = self.xp
        H = self._patterns[0].products(X, S_inverse)
        L = self._localisers(copies) if self._localiser is None else self._localiser
        product = xp.matmul(H, L)
        return xp.broadcast_to(L, product.shape), product

    def _localisers(self, copies: slice) -> Any:
        """The maps from a group's moments, the constant left out, to the localised ones; (copies, Y, S - 1)."""
        maps = self.xp.matmul(self.coefficients[copies, :], self._one_hot)
        return self.xp.reshape(maps, (-1, self.n_localised, self.n_moments - 1))


class RelaxationOperator:
    """All blocks of a relaxation, with the moments of a group in the order private, shared, constant."""

    def __init__(self, relaxation: Relaxation, xp: Any, device: Any = None, n_threads: int = 1) -> None:
        private, shared = np.flatnonzero(relaxation.private), np.flatnonzero(relaxation.shared)
        self.order = np.concatenate((private, shared, [0]))
        self.n_private, self.n_shared, self.n_groups = len(private), len(shared), relaxation.n_groups
        position = np.empty(relaxation.n_moments, dtype=np.int64)
        position[self.order] = np.arange(relaxation.n_moments)
        self.xp, self.device, self.n_threads = xp, device, n_threads
        self.blocks = [
            BlockOperator(block, position, relaxation.n_groups, len(private), xp, device) for block in relaxation.blocks
        ]
        self.barrier = sum(block.copies * block.size for block in self.blocks)
        objective = xp.asarray(np.ascontiguousarray(relaxation.objective[:, self.order]), device=device)
        self.private_cost = objective[:, : self.n_private]
        self.shared_cost = xp.sum(objective[:, self.n_private : -1], axis=0)
        self.constant = float(xp.sum(objective[:, -1]))

    def moments(self, private: Any, shared: Any, constant: float) -> Any:
        """The moments of all groups, shape (N, S); `constant` is 1 at a point and 0 for a direction."""
        xp, n = self.xp, self.n_groups
        common = xp.broadcast_to(xp.reshape(shared, (1, -1)), (n, self.n_shared))
        last = xp.full((n, 1), constant, dtype=private.dtype, device=private.device)
        return xp.concat((private, common, last), axis=1)

    def matrices(self, private: Any, shared: Any, constant: float = 0.0) -> list[Any]:
        z = self.moments(private, shared, constant)
        return [block.matrices(z) for block in self.blocks]

    def adjoint(self, matrices: list[Any]) -> tuple[Any, Any, float]:
        """The SOS side's coefficients: private (N, Kp), shared (Ks,) and the constant."""
        total = self.blocks[0].adjoint(matrices[0])
        for block, X in zip(self.blocks[1:], matrices[1:], strict=True):
            total = total + block.adjoint(X)
        sums = self.xp.sum(total[:, self.n_private :], axis=0)
        return total[:, : self.n_private], sums[:-1], float(sums[-1])


# -- the Newton system -------------------------------------------------------------------------------------------------


class NewtonSystem:
    """Factorisation of ``M = A* (X . S^-1) A`` at one iterate: an arrow, one small block per group and a border.

    Each group's private unknowns are eliminated; what remains of all groups adds up to one system in the shared
    unknowns. Cost and memory are linear in the number of groups; a solve costs two passes over them.
    """

    def __init__(self, operator: RelaxationOperator, X: list[Any], S_inverse: list[Any]) -> None:
        self.operator, self.X, self.S_inverse = operator, X, S_inverse
        xp, n, step = operator.xp, operator.n_groups, self._groups_at_a_time()
        chunks = [(start, min(start + step, n)) for start in range(0, n, step)]
        if operator.n_threads > 1 and len(chunks) > 1:
            with ThreadPoolExecutor(operator.n_threads) as pool:
                parts = list(pool.map(self._eliminate, chunks))
        else:
            parts = [self._eliminate(chunk) for chunk in chunks]
        self._root = xp.concat([part[0] for part in parts])
        if operator.n_shared:
            self._coupling = xp.concat([part[1] for part in parts])
            border = parts[0][2]
            for part in parts[1:]:
                border = border + part[2]
            border = 0.5 * (border + xp.permute_dims(border, (1, 0)))
            self._border_scale = 1.0 / xp.sqrt(positive(xp.linalg.diagonal(border), xp))
            self._border = nudged(border * self._border_scale[:, None] * self._border_scale[None, :], xp)

    def solve(self, private: Any, shared: Any, refinements: int = 3) -> tuple[Any, Any]:
        """``M x = rhs``, with iterative refinement while it helps: late systems are ill-conditioned."""
        x_private, x_shared = self._solve_once(private, shared)
        smallest = self._size(private, shared)
        enough = 1e-13 * smallest
        for _ in range(refinements):
            done_private, done_shared = self.apply(x_private, x_shared)
            left_private, left_shared = private - done_private, shared - done_shared
            size = self._size(left_private, left_shared)
            if not enough < size < 0.5 * smallest:
                break
            smallest = size
            more_private, more_shared = self._solve_once(left_private, left_shared)
            x_private, x_shared = x_private + more_private, x_shared + more_shared
        return x_private, x_shared

    def apply(self, private: Any, shared: Any) -> tuple[Any, Any]:
        """``M x`` without M: from moments to matrices, scaled, and back."""
        steps = self.operator.matrices(private, shared)
        scaled = [sandwich(*parts, self.operator.xp) for parts in zip(self.X, steps, self.S_inverse, strict=True)]
        out_private, out_shared, _ = self.operator.adjoint(scaled)
        return out_private, out_shared

    def _solve_once(self, private: Any, shared: Any) -> tuple[Any, Any]:
        xp = self.operator.xp
        half = xp.matmul(self._root, private[:, :, None])
        if self.operator.n_shared:
            reduced = shared - xp.sum(xp.matmul(transposed(self._coupling, xp), half), axis=0)[:, 0]
            solved = xp.linalg.solve(self._border, (self._border_scale * reduced)[:, None])[:, 0]
            shared = self._border_scale * solved
            half = half - xp.matmul(self._coupling, shared[:, None])
        return xp.matmul(transposed(self._root, xp), half)[:, :, 0], shared

    def _size(self, private: Any, shared: Any) -> float:
        """Largest entry of a right-hand side."""
        xp = self.operator.xp
        parts = [values for values in (private, shared) if values.shape[-1]]
        return max(float(xp.max(xp.abs(values))) for values in parts)

    def _eliminate(self, chunk: tuple[int, int]) -> tuple[Any, Any, Any]:
        """For some groups: inverse Cholesky factors of their private blocks, their coupling, and what is left over."""
        xp, n_private = self.operator.xp, self.operator.n_private
        rows, border = self._newton_matrices(*chunk)
        block = rows[:, :, :n_private]
        scale = 1.0 / xp.sqrt(positive(xp.linalg.diagonal(block), xp))
        block = block * scale[:, :, None] * scale[:, None, :]
        root = inverse_root(nudged(block, xp), xp) * scale[:, None, :]
        if not self.operator.n_shared:
            return root, None, None
        coupling = xp.matmul(root, rows[:, :, n_private:])
        flat = xp.reshape(coupling, (-1, self.operator.n_shared))
        return root, coupling, border - xp.matmul(xp.permute_dims(flat, (1, 0)), flat)

    def _newton_matrices(self, start: int, stop: int) -> tuple[Any, Any]:
        """Private rows of ``M`` of some groups, the constant left out, and the sum of their shared rows and columns."""
        xp, P = self.operator.xp, self.operator.n_private
        rows: Any = 0.0
        border: Any = 0.0
        maps, products = [], []
        for block, X, Si in zip(self.operator.blocks, self.X, self.S_inverse, strict=True):
            copies = block.copies_of(start, stop)
            if copies.start == copies.stop:
                continue
            if block.is_plain:
                rows, border = block.plain_newton(X[copies, ...], Si[copies, ...])
                continue
            L, product = block.localised_newton(X[copies, ...], Si[copies, ...], copies)
            if block.identity_groups:  # one product for all of these blocks, below
                maps.append(L)
                products.append(product)
                continue
            for group, part in block.by_group(start, stop):
                inside = slice(part.start - copies.start, part.stop - copies.start)
                flat_L, flat_product = (xp.reshape(M[inside, ...], (-1, M.shape[2])) for M in (L, product))
                across = xp.permute_dims(flat_L, (1, 0))
                rows[group - start, ...] += xp.matmul(across[:P, :], flat_product)
                border = border + xp.matmul(across[P:, :], flat_product[:, P:])
        if maps:
            L, product = xp.concat(maps, axis=1), xp.concat(products, axis=1)
            rows = rows + xp.matmul(transposed(L[:, :, :P], xp), product)
            if self.operator.n_shared:
                flat_L, flat_product = (xp.reshape(M[:, :, P:], (-1, M.shape[2] - P)) for M in (L, product))
                border = border + xp.matmul(xp.permute_dims(flat_L, (1, 0)), flat_product)
        return rows, border

    def _groups_at_a_time(self) -> int:
        bytes_a_group = max(8 * block.n_localised * block.size**2 for block in self.operator.blocks)
        on_processor = self.operator.device is None or str(self.operator.device) == "cpu"
        return max(1, (CHUNK_BYTES if on_processor else ACCELERATOR_CHUNK_BYTES) // bytes_a_group)
