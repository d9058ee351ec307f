"""The parts of a proof by boxes (see `certificate`)."""

from dataclasses import dataclass

from hypermargin.arrays import Array

#: Points of a leaf are multiples of 1/GRID of the half sides of its box, counted from its centre; weights of 1/WEIGHTS.
GRID, WEIGHTS = 2048, 1 << 32


@dataclass(frozen=True, eq=False)
class BoxLeaf:
    """What proves a leaf.

    Parameters
    ----------
    lam : float
        The share of the margin term that is used.
    points : (J, d + 1) array
        Where the envelopes of the losses are touched, in units of the grid.
    weights : (J,) array
        How much each of these points counts, in units of 1/WEIGHTS; what is left to 1 counts for a slope of 0.
    minimiser : (d + 1,) array
        Where the tangent plane to the quadratic is taken, in units of the grid.
    """

    lam: float
    points: Array
    weights: Array
    minimiser: Array


@dataclass(frozen=True, eq=False)
class BoxProof:
    """A cover of all w, and the proof of each of its parts.

    Parameters
    ----------
    frame : (d + 1, d + 1) array
        The matrix F of the frame in which boxes are meant: margins are ``y x'Fw``. Up to the sign of its rows it is an
        isometry, as good as doubles hold one.
    half_side : float
        Half the side of the first box, a cube around w = 0: a power of two.
    cutoff : float
        No more than this is proved: w at which a single sample costs it are left out of account.
    settled : float
        Samples whose quadratic is below their loss by at most this much a unit of cost are carried down the tree. Any
        number will do; it decides what the check costs, and how good the bound is.
    leaf_settled : float
        The same for the samples of a leaf, which nothing inherits.
    directions : tuple of tuple of int
        For each face of the cube (axis 0 at -1 and +1, axis 1, ...) its pieces in preorder: the axis a piece is halved
        across, or -1 for one that is proved.
    tree : tuple of int
        The boxes in preorder in the same way.
    leaves : tuple of BoxLeaf
        One for each -1 of the tree, in its order.
    """

    frame: Array
    half_side: float
    cutoff: float
    settled: float
    leaf_settled: float
    directions: tuple[tuple[int, ...], ...]
    tree: tuple[int, ...]
    leaves: tuple[BoxLeaf, ...]
