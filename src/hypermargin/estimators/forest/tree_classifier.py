"""`HyperbolicTreeClassifier`: one tree of hyperplanes."""

from sklearn.utils import check_random_state

from hypermargin.arrays import Array
from hypermargin.estimators.forest.ensemble import TreeEnsemble
from hypermargin.estimators.forest.growing import LARGEST_SEED, grow_trees
from hypermargin.estimators.forest.tree import Tree
from hypermargin.estimators.model_file import storable


@storable
class HyperbolicTreeClassifier(TreeEnsemble):
    """A decision tree whose splits are hyperplanes, hypercycles, horocycles and circles of hyperbolic space.

    At a node the classes are put in two groups; a balanced sample of both is separated by the w that minimises
    ``max(q(w), 0)/2 + C * risk``; and of a family of hyperplanes or curves that goes with w (`boundary`) the one is
    taken that parts all samples of the node so that impurity is least. Everything is invariant under isometries, in
    distribution.

    Parameters
    ----------
    max_depth : int, optional
        Most splits on a path; no limit by default.
    min_samples_leaf : int, default=5
        Distinct samples that a leaf holds at least. In nodes with a class that has fewer than 5 in the sample of the
        tree, as many as that class has are enough: otherwise no leaf could be its own.
    min_weight_fraction_leaf : float, default=0.0
        Share of the weight of all samples of the tree that a leaf holds at least.
    criterion : {"gini", "entropy"}, default="gini"
        What the threshold makes small.
    grouping : {"mixed", "random", "seeds", "one-vs-rest", "pairs", "hierarchy"}, default="mixed"
        How three or more classes are put in two groups: at random; each with the nearer of two random classes; one
        against the rest; two classes only, the others sit out; those that part last when the classes whose centroids
        have the lowest common ancestors are merged; "mixed" is one of the first three at each node.
    boundary : {"hyperplane", "curve", "mixed"}, default="mixed"
        What a split is: a hyperplane ``x * (w - s c) = 0``, where c is the centroid of the sample; a level set
        ``x * w = s``, which is a hypercycle, horocycle or circle; either of them at random for each candidate.
    n_candidates : int, default=3
        Splits tried at a node; the one with the least impurity is kept.
    split_samples : int, default=10
        Most samples of each group that the hyperplane of a node is fitted to.
    C : float, default=100.0
        Weight of the risk of each sample.
    shrinkage : float, default=2.0
        Draws the shares of the classes in a leaf towards those of the nodes above: a child of a node of n samples
        differs from it by ``1/(1 + shrinkage/n)`` of what it would. 0 leaves the shares as they are.
    splits : {"fast", "certified"}, default="fast"
        "fast" minimises roughly, in microseconds; "certified" solves every split to a proved optimum with the exact
        method and keeps the certificates.
    tol : float, default=1e-6
        Relative gap of certified splits.
    geometry : {"lorentz", "poincare", "klein", "halfspace", "tangent"}, default="lorentz"
        What the columns of X are.
    curvature : float, default=1.0
        The points lie in the space of curvature ``-curvature``.
    class_weight : dict or "balanced", optional
        Factors of `sample_weight` by class.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : (n_classes,) array
    tree_ : Tree
        Nodes, splits and values, in the frame that has `frame_` at the origin.
    frame_ : (d + 1,) array
        The centroid of the training points on the unit hyperboloid.
    certified_splits_ : list with one list of CertifiedSplit
        What proves the splits of the tree where they are certified; ``split.verify(model.points_)`` checks anew.
    points_ : (n, d + 1) array
        The distinct training points in the frame; kept with certified splits only.
    """

    def __init__(
        self,
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        min_weight_fraction_leaf: float = 0.0,
        criterion: str = "gini",
        grouping: str = "mixed",
        boundary: str = "mixed",
        n_candidates: int = 3,
        split_samples: int = 10,
        C: float = 100.0,
        shrinkage: float = 2.0,
        splits: str = "fast",
        tol: float = 1e-6,
        geometry: str = "lorentz",
        curvature: float = 1.0,
        class_weight=None,
        random_state=None,
    ):
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.criterion = criterion
        self.grouping = grouping
        self.boundary = boundary
        self.n_candidates = n_candidates
        self.split_samples = split_samples
        self.C = C
        self.shrinkage = shrinkage
        self.splits = splits
        self.tol = tol
        self.geometry = geometry
        self.curvature = curvature
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None) -> "HyperbolicTreeClassifier":
        """Fit to points X, shape (n, width), with labels y of any dtype, shape (n,), and weights (n,)."""
        plan, _ = self._plan(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(LARGEST_SEED))
        self._adopt(plan, [seed], grow_trees(plan, [seed], None, False))
        return self

    @property
    def tree_(self) -> Tree:
        return self.trees_[0]

    def get_depth(self) -> int:
        """Splits on the longest path."""
        return self._one_tree().depth

    def get_n_leaves(self) -> int:
        return self._one_tree().n_leaves

    def apply(self, X) -> Array:
        """The leaf (its node) that each point falls in, shape (n,)."""
        points = self._in_frame(self._points(X))
        return self.tree_.leaves(points).astype(int)

    def to_text(self, max_depth: int | None = None) -> str:
        """The tree in words, a line for each node; `max_depth` cuts it off below."""
        return self._text(0, max_depth)

    def _one_tree(self) -> Tree:
        self._check_fitted()
        return self.tree_
