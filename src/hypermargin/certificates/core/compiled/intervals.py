# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False, infer_types=True
"""What the intervals of a certificate prove, in ball arithmetic. Compiled by Cython, with the types of `intervals.pxd`.

A ball (m, r) stands for an unknown number within r of the double m. With u = 2^-53 a sum, product, quotient or square
root rounds to a double m with an error of at most ``u |m|``, or ``TINY`` where it underflows; that is added to what the
radii of the operands may change. The radius itself is computed with less than ten roundings, which `MORE` makes up for.
What overflows has a radius that is infinite or no number, and proves nothing.
"""

import cython
import numpy as np

from hypermargin.certificates.core.certificate import CertificateError

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

U = cython.declare(cython.double, 2.0**-53)
MORE = cython.declare(cython.double, 1.0 + 2.0**-48)
TINY = cython.declare(cython.double, 1e-300)
INFINITY = cython.declare(cython.double, float("inf"))

if not cython.compiled:
    MidRad = cython.struct(m=cython.double, r=cython.double)


# -- balls -----------------------------------------------------------------------------------------------------------


def _exact(m):
    return MidRad(m=m, r=0.0)


def _rounded(m, r):
    """The ball of a result that was rounded to m, when r is what the operands' radii change."""
    return MidRad(m=m, r=(r + U * fabs(m)) * MORE + TINY)


def _is_zero(x):
    return x.m == 0.0 and x.r == 0.0


def _plus(x, y):
    if _is_zero(y):
        return x
    return y if _is_zero(x) else _rounded(x.m + y.m, x.r + y.r)


def _times(x, y):
    if _is_zero(x) or _is_zero(y):
        return _exact(0.0)
    return _rounded(x.m * y.m, fabs(x.m) * y.r + x.r * (fabs(y.m) + y.r))


def _over(x, y):
    """``x/y`` for positive y: ``X/Y - x/y = ((X - x) - (Y - y) x/y)/Y``."""
    ratio = x.m / y.m if y.m > 0.0 else INFINITY
    least = _lower(y)
    return _rounded(ratio, (x.r + fabs(ratio) * y.r) / least if least > 0.0 else INFINITY)


def _root(x):
    """The root of a number that is not negative: ``sqrt(X) - sqrt(x) = (X - x)/(sqrt(X) + sqrt(x))``."""
    if _is_zero(x):
        return x
    root = sqrt(x.m) if x.m > 0.0 else 0.0
    return _rounded(root, x.r / root if root > 0.0 else INFINITY)


def _lower(x):
    """A double that is not above the ball."""
    low = x.m - x.r
    return low if x.r == 0.0 else low - 4.0 * U * fabs(low)


def _upper(x):
    """A double that is not below the ball."""
    return -_lower(MidRad(m=-x.m, r=x.r))


# -- the parts of the proof ------------------------------------------------------------------------------------------


def require_intervals(regions: tuple, n_cuts: cython.Py_ssize_t):
    """Refuse regions whose intervals do not cover ``0 <= s < infinity``, and minorants that are none."""
    s: cython.double
    last: cython.double
    value: cython.double
    cut: cython.Py_ssize_t
    ordered: cython.bint
    for region in regions:
        nodes: list = region.nodes.ravel().tolist()
        minorants: tuple = region.minorants
        ordered, last = bool(nodes) and nodes[0] == 0.0, 0.0
        for s in nodes:
            ordered, last = ordered and last <= s, s
        if not (ordered and last < INFINITY) or len(minorants) != len(nodes) or region.sign not in (-1, 1):
            raise CertificateError("the intervals of a region do not cover 0 <= s < infinity")
        for minorant in minorants:
            cuts: tuple = minorant.cuts
            weights: tuple = minorant.weights
            value = minorant.chord
            ordered = len(cuts) == len(weights) and 0.0 <= value < INFINITY
            for cut in cuts:
                ordered = ordered and 0 <= cut < n_cuts
            for value in weights:
                ordered = ordered and 0.0 <= value < INFINITY
            if not ordered:
                raise CertificateError("a minorant is not a combination of the cuts with weights >= 0")


def halves_are_complete(above, nodes, starts, cuts, weights, n_cuts):
    """Whether the nodes of both halves cover ``0 <= s < infinity``, and all minorants are combinations of cuts."""
    last, n = 0.0, nodes.shape[0]
    if not 0 < above < n or starts.shape[0] != n + 1 or cuts.shape[0] != weights.shape[0]:
        return False
    if starts[0] != 0 or starts[n] != cuts.shape[0]:
        return False
    for i in range(n):
        last = 0.0 if i == 0 or i == above else last
        if starts[i] > starts[i + 1] or not last <= nodes[i] < INFINITY:
            return False
        if (i == 0 or i == above) and nodes[i] != 0.0:
            return False
        last = nodes[i]
    for i in range(cuts.shape[0]):  # noqa: SIM110 (a loop that compiles to C)
        if not (0 <= cuts[i] < n_cuts and 0.0 <= weights[i] < INFINITY):
            return False
    return True


@cython.cclass
class Intervals:
    """The cuts of a certificate in its frame (`sums.cut_sums`), to ask what minorants made of them prove."""

    def __init__(
        self,
        totals: cython.double[:, ::1],
        errors: cython.double[:, ::1],
        one_class: cython.const[cython.uchar][::1],
        dim: cython.Py_ssize_t,
    ):
        self.dim = dim
        self.totals, self.errors, self.one_class = totals, errors, one_class
        self.b = self.g0 = _exact(0.0)
        self.m, self.r = np.zeros(self.dim), np.zeros(self.dim)
        self.own_cuts, self.own_weights = np.zeros(0, dtype=np.intp), np.zeros(0)

    def least_bound(self, regions: tuple):
        """The least bound that the intervals of these regions prove, at least 0; `require_intervals` has passed them.

        An interval is ``begin <= s <= end`` for one sign of t, and has a minorant; the last of a region has no end.
        """
        chord: cython.double
        least: cython.double = INFINITY
        for region in regions:
            nodes: list = region.nodes.ravel().tolist()
            minorants: tuple = region.minorants
            nodes.append(INFINITY)
            for i in range(len(minorants)):
                minorant = minorants[i]
                chord = minorant.chord
                self._take(minorant.cuts, minorant.weights)
                self._combine(region.sign)
                rise = self._rise() if chord == 0.0 else 0.0
                if chord > 0.0 and not self._add_chord(_exact(chord), minorant.box.low, minorant.box.high):
                    raise CertificateError("a chord is used for a box that is too wide for one")
                least = min(least, self._least_between(nodes[i], nodes[i + 1], rise))
        return max(0.0, least)  # neither the margin term nor the risk is ever negative

    def least_bound_of_halves(self, above, nodes, starts, cuts, weights):
        """The same for the parts of a `TwoRegionProof`, which may be anything; -inf where they are no proof."""
        least: cython.double = INFINITY
        if not halves_are_complete(above, nodes, starts, cuts, weights, self.totals.shape[0]):
            return -INFINITY
        for i in range(nodes.shape[0]):
            self.cuts, self.weights = cuts[starts[i] : starts[i + 1]], weights[starts[i] : starts[i + 1]]
            self._combine(1.0 if i < above else -1.0)
            end = INFINITY if i == above - 1 or i == nodes.shape[0] - 1 else nodes[i + 1]
            least = min(least, self._least_between(nodes[i], end, self._rise()))
        return max(0.0, least)

    def _take(self, cuts, weights):
        """Make the combination of these cuts the one at hand."""
        if len(cuts) > self.own_cuts.shape[0]:
            self.own_cuts, self.own_weights = np.zeros(2 * len(cuts), dtype=np.intp), np.zeros(2 * len(cuts))
        for i in range(len(cuts)):
            self.own_cuts[i], self.own_weights[i] = cuts[i], weights[i]
        self.cuts, self.weights = self.own_cuts[: len(cuts)], self.own_weights[: len(cuts)]

    def _least_between(self, begin, end, rise):
        """What the minorant at hand proves for ``begin <= s <= end``, or from `begin` on: its lesser end value."""
        b = _lower(self.b)
        a = _lower(self.g0)
        A = self._longest()
        least = _end_value(b, a, A, rise, begin)
        if end < INFINITY:
            return min(least, _end_value(b, a, A, rise, end))
        return least if a >= A or rise > 0.0 else -INFINITY  # else it falls towards infinity and proves nothing there

    def _combine(self, sign):
        """The combination of cuts over sqrt2, and over the sum of its weights where that may be above 1."""
        total = _exact(0.0)
        for i in range(self.weights.shape[0]):
            total = _plus(total, _exact(self.weights[i]))
        total = _exact(max(1.0, _upper(total)))
        for k in range(self.dim + 2):
            value = _exact(0.0)
            for i in range(self.weights.shape[0]):
                weight, cut = _over(_exact(self.weights[i]), total), self.cuts[i]
                value = _plus(value, _times(weight, MidRad(m=self.totals[cut, k], r=self.errors[cut, k])))
            value = _times(_root(_exact(0.5)), value)
            if k == 0:
                self.b = value
            elif k == 1:
                self.g0 = _times(_exact(-sign), value)
            else:
                self.m[k - 2], self.r[k - 2] = -value.m, value.r

    def _slope(self, k):
        return MidRad(m=self.m[k], r=self.r[k])

    def _rise(self):
        """A lower bound of ``g0 - |gr|`` where it follows from where the points lie; 0 where it does not.

        If all samples are of one class, (g0, gr) is a sum of vectors of one light cone, of Minkowski length 1 at least
        and with weights that sum to b. So the length of the sum is at least b, and ``g0 - |gr| >= b^2/(g0 + |gr|)``.
        Far from the origin the difference itself is lost to rounding.
        """
        b = _lower(self.b)
        if not (b > 0.0 and _lower(self.g0) > 0.0):
            return 0.0
        for i in range(self.cuts.shape[0]):
            cut = self.cuts[i]
            if not self.one_class[cut] or self.totals[cut, 1] * self.totals[self.cuts[0], 1] <= 0.0:
                return 0.0
        return _lower(_over(_times(_exact(b), _exact(b)), _plus(_exact(_upper(self.g0)), _exact(self._longest()))))

    def _add_chord(self, nu, low, high):
        """Add nu times the chord ``u.v >= kappa |v|``, which holds for all directions v of the box, if there is one.

        Points of the box are within half its diagonal rho of its centre c, hence within the angle ``asin(rho/|c|)`` of
        it if rho is less than ``|c|``: u is ``c/|c|``, and kappa the cosine of that angle.
        """
        square = _exact(0.0)  # |2 c|^2
        diagonal = _exact(0.0)  # |2 rho|^2
        for k in range(self.dim):
            middle = _plus(_exact(low[k]), _exact(high[k]))
            edge = _plus(_exact(high[k]), _exact(-low[k]))
            square = _plus(square, _times(middle, middle))
            diagonal = _plus(diagonal, _times(edge, edge))
        kappa = _lower(_plus(_exact(1.0), _exact(-_upper(_over(diagonal, square)))))
        if not kappa > 0.0:
            return False
        self.g0 = _plus(self.g0, _times(nu, _root(_exact(kappa))))
        nu = _over(nu, _root(square))
        for k in range(self.dim):
            middle = _plus(_exact(-low[k]), _exact(-high[k]))
            value = _plus(self._slope(k), _times(nu, middle))
            self.m[k], self.r[k] = value.m, value.r
        return True

    def _longest(self):
        """An upper bound of ``|gr|``."""
        square = _exact(0.0)
        for k in range(self.dim):
            square = _plus(square, _times(self._slope(k), self._slope(k)))
        return _upper(_root(_exact(_upper(square))))


def _end_value(b, a, A, rise, s):
    """``b + a s + phi(s, A)`` rounded down, phi being the minimum of ``max(r^2 - s^2, 0)/2 - A r`` over r >= 0.

    For ``s > A`` that is ``b + (a - A) s``, and `rise` may be known to be less than ``a - A``.
    """
    value: cython.double
    if s > A:
        phi = _times(_exact(-A), _exact(s))
    else:
        phi = _times(_exact(-0.5), _plus(_times(_exact(A), _exact(A)), _times(_exact(s), _exact(s))))
    value = _lower(_plus(_plus(_exact(b), _times(_exact(a), _exact(s))), phi))
    if s > A and rise > 0.0:
        value = max(value, _lower(_plus(_exact(b), _times(_exact(rise), _exact(s)))))
    return value if fabs(value) < INFINITY else -INFINITY  # minus infinity where something overflowed
