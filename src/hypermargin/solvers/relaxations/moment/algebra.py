"""What the interior-point method asks of batches of small matrices, in array-API code for any library.

`compiled_algebra.CompiledAlgebra` answers the same questions on NumPy by compiled loops.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from hypermargin.solvers.relaxations.moment.elimination import Elimination, inverse_root
from hypermargin.solvers.relaxations.moment.operators import RelaxationOperator, symmetric


class Eliminated(Protocol):
    """The Newton system after elimination of the private unknowns (see `Elimination`)."""

    @property
    def border(self) -> Any: ...

    def forward(self, private: Any, shared: Any) -> tuple[Any, Any]: ...

    def backward(self, half: Any, shared: Any) -> Any: ...


class Algebra(Protocol):
    """The questions; lists have one batch of matrices per block."""

    @property
    def operator(self) -> RelaxationOperator: ...

    def invert(self, S: list[Any]) -> list[Any]:
        """``S^-1``, or a LinAlgError where S is not positive definite."""
        ...

    def eliminate(self, X: list[Any], S_inverse: list[Any]) -> Eliminated:
        """The Newton matrix at (X, S), private unknowns eliminated."""
        ...

    def sandwich(self, X: Any, M: Any, S_inverse: Any) -> Any:
        """The symmetric part of ``X M S^-1`` of one block, M symmetric."""
        ...

    def longest_step(self, S: list[Any], step: list[Any], fraction: float) -> float:
        """`fraction` of the way to where ``S + a step`` leaves the cone, at most 1."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayAlgebra:
    """The answers by batched array calls."""

    operator: RelaxationOperator
    n_threads: int = 1
    _known: list[tuple[list[Any], list[Any]]] = field(default_factory=list)

    def invert(self, S: list[Any]) -> list[Any]:
        xp = self.operator.xp
        return [xp.matmul(xp.permute_dims(R, (0, 2, 1)), R) for R in self._roots(S)]

    def eliminate(self, X: list[Any], S_inverse: list[Any]) -> Eliminated:
        return Elimination(self.operator, X, S_inverse, self.n_threads)

    def sandwich(self, X: Any, M: Any, S_inverse: Any) -> Any:
        xp = self.operator.xp
        return symmetric(xp.matmul(xp.matmul(X, M), S_inverse), xp)

    def longest_step(self, S: list[Any], step: list[Any], fraction: float) -> float:
        xp, longest = self.operator.xp, 1.0
        for root, change in zip(self._roots(S), step, strict=True):
            scaled = xp.matmul(xp.matmul(root, change), xp.permute_dims(root, (0, 2, 1)))
            lowest = float(xp.min(xp.linalg.eigvalsh(symmetric(scaled, xp))))
            if lowest < 0.0:
                longest = min(longest, -fraction / lowest)
        return longest

    def _roots(self, S: list[Any]) -> list[Any]:
        """Inverse Cholesky factors. Those of the last two lists are kept: an iteration asks for them again."""
        for matrices, roots in self._known:
            if matrices is S:
                return roots
        xp = self.operator.xp
        roots = [inverse_root(Sk, xp) for Sk in S]
        self._known[:] = [*self._known[-1:], (S, roots)]
        return roots
