"""The Newton system of the interior-point method: an arrow, one small block per group and a border of shared unknowns.

Each group's private unknowns are eliminated; what remains of all groups adds up to one system in the shared unknowns.
Cost and memory are linear in the number of groups.
"""

from typing import TYPE_CHECKING, Any

from hypermargin.solvers.relaxations.moment.elimination import nudged, positive

if TYPE_CHECKING:
    from hypermargin.solvers.relaxations.moment.algebra import Algebra


class ArrowSystem:
    """Factorisation of ``M = A* (X . S^-1) A`` at one iterate; `solve` then costs two passes over the groups."""

    def __init__(self, algebra: "Algebra", X: list[Any], S_inverse: list[Any]) -> None:
        self.algebra, self.operator, self.X, self.S_inverse = algebra, algebra.operator, X, S_inverse
        self.eliminated = algebra.eliminate(X, S_inverse)
        if self.operator.n_shared:
            xp, border = self.operator.xp, self.eliminated.border
            self.border_scale = 1.0 / xp.sqrt(positive(xp.linalg.diagonal(border), xp))
            self.border = nudged(border * self.border_scale[:, None] * self.border_scale[None, :], xp)

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
        scaled = [self.algebra.sandwich(*parts) for parts in zip(self.X, steps, self.S_inverse, strict=True)]
        out_private, out_shared, _ = self.operator.adjoint(scaled)
        return out_private, out_shared

    def _solve_once(self, private: Any, shared: Any) -> tuple[Any, Any]:
        half, reduced = self.eliminated.forward(private, shared)
        if self.operator.n_shared:
            solved = self.operator.xp.linalg.solve(self.border, (self.border_scale * reduced)[:, None])[:, 0]
            shared = self.border_scale * solved
        return self.eliminated.backward(half, shared), shared

    def _size(self, private: Any, shared: Any) -> float:
        """Largest entry of a right-hand side."""
        xp = self.operator.xp
        parts = [values for values in (private, shared) if values.shape[-1]]
        return max(float(xp.max(xp.abs(values))) for values in parts)
