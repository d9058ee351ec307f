"""Certificates with one or a few fields changed, in ways that somebody would try who wants a false bound accepted.

`compare` makes mutants of one certificate and holds the fast check against the reference checker and both against the
truth: nothing above the objective of a feasible point is proved by either, and whatever the fast check accepts the
reference accepts with a bound no lower but for rounding.
"""

import copy
import json
import math
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from certificates.damage import DAMAGES
from hypermargin import Ball, Box, CrossPolytope, Ellipsoid, GeodesicBall, MarginProblem, Status, solve
from hypermargin.certificates import Certificate, CertificateError
from hypermargin.certificates.by_reference import exact_problem
from hypermargin.certificates.reference import Malformed, Refused, check
from hypermargin.kernels import KERNELS
from hypermargin.problems.curve import CurveProblem
from hypermargin.problems.kernel import KernelProblem
from hypermargin.solvers.curve import solve_curve
from hypermargin.solvers.kernel.method import solve_kernel

SETS = {
    "GeodesicBall": GeodesicBall(0.2),
    "Box": Box(0.1),
    "CrossPolytope": CrossPolytope(0.2),
    "Ball": Ball(0.15),
    "Ellipsoid": Ellipsoid([[0.3, 0.1], [0.0, 0.2]], 0.7),
}
KINDS = (
    "plain",
    "timelike",
    *SETS,
    "hard",
    "hard GeodesicBall",
    "overlap",
    "overlap GeodesicBall",
    "overlap Box",
    *KERNELS,
    "curve",
    "asinh",
    "moment",
)
#: Relative to the objective: what bounds of doubles and of Arb may differ by.
ROUNDING = 1e-9


def points(seed, n=7, d=2, noise=0.6):
    rng = np.random.default_rng(seed)
    space = rng.normal(size=(n, d)) * np.exp(rng.uniform(-1.0, 1.0))
    y = np.where(space[:, 0] + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return np.column_stack([np.sqrt(1.0 + np.sum(space**2, axis=1)), space]), y


def plain(certificate):
    return json.loads(json.dumps(certificate.to_dict()))


@lru_cache(maxsize=256)
def solved(kind, seed, swapped=False):
    """A problem of that kind and its solution; `swapped`: two samples of the two classes exchange their labels."""
    rng = np.random.default_rng(seed)
    C, (X, y) = float(10.0 ** rng.uniform(-1, 1)), points(seed)
    weight = rng.exponential(size=len(y)) if seed % 2 else None
    if kind == "asinh":
        (X, y), weight = points(seed, 6, 1 + seed % 2), None
    elif kind == "moment":
        (X, y), weight = points(seed, 5, 1 + seed % 2), None
    elif kind.startswith("hard"):
        (X, y), C, weight = points(seed, noise=0.0), math.inf, None
    elif kind.startswith("overlap"):
        (X, y), C, weight = points(seed, 12, noise=9.0), math.inf, None
    if swapped:
        y[:2] = y[1], y[0]
    if kind in KERNELS:
        problem = KernelProblem(X, y, KERNELS[kind](), C, sample_weight=weight)
        return problem, solve_kernel(problem)
    name = kind.split()[-1]
    noise = GeodesicBall(0.02) if kind == "hard GeodesicBall" else SETS.get(name)
    problem = MarginProblem(X, y, C, weight, noise, allow_timelike=kind == "timelike")
    if kind == "curve":
        problem = CurveProblem(problem)
        return problem, solve_curve(problem)
    if kind == "asinh":
        return problem, solve(problem, "exact", loss="asinh", tol=1e-2, max_iter=500)
    return problem, solve(problem, "moment" if kind == "moment" else "exact")


def compare(kind: str, seed: int, count: int, first: int = 0) -> tuple[Counter, list[str]]:
    """How many mutants of a certificate ended how, and what is wrong, in sentences.

    Every fourth mutant is held against the problem with two labels swapped.
    """
    source, solution = solved(kind, seed)
    endings, wrong = Counter(), list[str]()
    if solution.certificate is None or not solution.status.is_proved:
        return endings, wrong
    natural = plain(solution.certificate)
    cases = [
        (source, exact_problem(source), solution),
        *((p, exact_problem(p), s) for p, s in [solved(kind, seed, True)]),
    ]
    for k in range(first, first + count):
        rng = np.random.default_rng([seed, k])
        problem, data, truth = cases[k % 4 == 3]
        changed = mutant(natural, rng) if k % 2 else smart_mutant(natural, rng)
        most = math.inf if truth.status is Status.INFEASIBLE else truth.objective * (1.0 + 1e-12)
        outcome, reference, fast = judged(changed, problem, data)
        endings[outcome] += 1
        slack = ROUNDING * (abs(truth.objective) if math.isfinite(truth.objective) else 1.0)
        name = f"{kind} {seed}, mutant {k}"
        if reference > most or fast > most:
            wrong.append(f"{name}: fast {fast!r}, reference {reference!r} of an optimum of at most {most!r}")
        elif outcome.startswith("accepted") and fast > max(reference, 0.0) + slack:
            wrong.append(f"{name}: fast {fast!r}, reference {reference!r}")
        elif outcome.startswith("raised"):
            wrong.append(f"{name}: {outcome}")
    return endings, wrong


def judged(changed: Any, problem: Any, data: Any) -> tuple[str, float, float]:
    """How a mutant ended, and the bounds by the reference checker and by the fast one (minus infinity: refused)."""
    reference = fast = -math.inf
    try:
        reference = check(changed, data)
    except Malformed:  # the fast check takes text that reads as a number for one
        return "malformed", reference, fast
    except Refused:
        pass
    except Exception as error:
        return f"raised {type(error).__name__} in the reference: {error}", reference, fast
    try:
        with np.errstate(all="ignore"):
            certificate = Certificate.from_dict(changed)
            with suppress(CertificateError):  # whatever the proof is worth, its frame is used for the answer too
                certificate.objective_for(problem)
            fast = certificate.bound_for(problem)
    except CertificateError:
        return "accepted by the reference only" if reference > -math.inf else "refused", reference, fast
    except Exception as error:
        return f"raised {type(error).__name__} in the fast check: {error}", reference, fast
    return "accepted", reference, fast


# -- mutations ---------------------------------------------------------------------------------------------------------

#: What a number may become: another sign, a little or much more, nothing, a whole number, or no number at all.
CHANGES = (
    lambda v, rng: -v,
    lambda v, rng: 0.0,
    lambda v, rng: 1.0,
    lambda v, rng: v * (1.0 + 10.0 ** rng.uniform(-12, 0)),
    lambda v, rng: v * (1.0 - 10.0 ** rng.uniform(-12, 0)),
    lambda v, rng: v * 10.0 ** rng.uniform(-3, 3),
    lambda v, rng: v + rng.normal(),
    lambda v, rng: rng.choice([1e-300, 1e60, 2.99, 6.0, -1.0]),
)
WHOLE = (lambda v, rng: v + 1, lambda v, rng: v - 1, lambda v, rng: 0, lambda v, rng: -v, lambda v, rng: 10**9)
ODD = (math.nan, math.inf, -math.inf, None, True, "1", [], {}, 10**30)


def places(value, path=()):
    """The paths of all values of a tree of lists and dicts, but for the format and the statement."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if path or key not in ("format", "statement"):
            yield from places(inner, (*path, key))


def mutant(plain, rng):
    """A changed copy of a certificate in its plain form."""
    changed = json.loads(json.dumps(plain))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        paths = [path for path in places(changed) if path]
        # Every level alike: leaves are many, and what matters often stands near the root.
        depth = rng.choice(sorted({len(path) for path in paths}))
        paths = [path for path in paths if len(path) == depth]
        *parents, last = paths[rng.integers(len(paths))]
        holder = changed
        for key in parents:
            holder = holder[key]
        holder[last] = _changed(holder[last], rng)
        if isinstance(holder, list) and rng.random() < 0.1:
            del holder[last]
    return changed


def _changed(value, rng):
    if rng.random() < 0.03:
        return ODD[rng.integers(len(ODD))]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return WHOLE[rng.integers(len(WHOLE))](value, rng)
    if isinstance(value, float):
        with np.errstate(all="ignore"):
            return float(CHANGES[rng.integers(len(CHANGES))](value, rng))
    if isinstance(value, list) and value:
        i, j = rng.integers(len(value), size=2)
        kind = rng.integers(4)
        if kind == 0:
            return value[:i] + value[i + 1 :]
        if kind == 1:
            return [*value[:i], value[j], *value[i:]]
        if kind == 2:
            return [value[j] if k == i else value[i] if k == j else v for k, v in enumerate(value)]
        if all(isinstance(v, float) for v in value):
            factor = float(rng.choice([-1.0, 0.0, 0.5, 1.0 + 1e-6, 2.0, 1e6]))
            return [factor * v for v in value]
    return value


def smart_mutant(natural, rng):
    """A copy with one or two forgeries that its kind invites; where there are none for it, any mutant."""
    changed = copy.deepcopy(natural)
    content = changed.get("soft", changed)
    for _ in range(rng.choice([1, 1, 2])):
        names = [key for key in FORGERIES if key in content]
        if content.get("regions") and rng.random() < 0.6:
            content["n_samples"] = 7
            DAMAGES[str(rng.choice(list(DAMAGES)))](content, rng)
        elif names:
            key = str(rng.choice(names))
            content[key] = FORGERIES[key](content[key], rng)
        else:
            return mutant(natural, rng)
    return json.loads(json.dumps(changed))


def _scaled(value, rng):
    return float(value * rng.choice([-1.0, 0.0, 0.5, 1.0 + 1e-6, 1.1, 2.0, 1e3, 1e6]))


def _thinned(values, rng):
    """Without one entry, or with one twice, or with two exchanged."""
    if not values:
        return values
    i, j = rng.integers(len(values), size=2)
    turned = [values[j] if k == i else values[i] if k == j else v for k, v in enumerate(values)]
    return [values[:i] + values[i + 1 :], [*values, values[i]], turned][rng.integers(3)]


def _pruned(tree, rng):
    """A tree with one box that is not split any more, without the pieces it had: a cover of less work."""
    i = int(rng.integers(len(tree)))
    end, waiting = i, 1
    while waiting and end < len(tree):
        waiting += 1 if tree[end] >= 0 else -1
        end += 1
    return [*tree[:i], -1, *tree[end:]]


def _forged_extents(extents, rng):
    """One half of space is said to be empty, or a coordinate to be bounded for less."""
    if rng.random() < 0.5:
        weights = [0.0] * len(extents[0][4]) if rng.random() < 0.5 else list(extents[0][4])
        return [*extents, [int(rng.choice([-1, 1])), 0, 0, float(rng.choice([-1.0, 0.0, 1.0])), weights]]
    i = int(rng.integers(len(extents)))
    half, coordinate, sign, price, weights = extents[i]
    own = [half, coordinate, int(rng.choice([sign, -sign, 0])), _scaled(price, rng), [_scaled(v, rng) for v in weights]]
    return [*extents[:i], own, *extents[i + 1 :]]


def _one_scaled(values, rng):
    i = rng.integers(max(1, len(values)))
    return [
        (_one_scaled(v, rng) if isinstance(v, list) else _scaled(v, rng)) if k == i else v for k, v in enumerate(values)
    ]


#: Changes of fields that certificates of one kind have, by the name of the field.
FORGERIES = {
    **dict.fromkeys(("cutoff", "level", "scale", "half_side", "settled", "leaf_settled", "C", "intercept"), _scaled),
    "threshold": lambda value, rng: float(rng.choice([2.99, 6.0, 10.9, 0.5, -1.0, 1.0 + 1e-9])),
    "tree": _pruned,
    "directions": lambda trees, rng: [_pruned(tree, rng) if rng.random() < 0.3 else tree for tree in trees],
    **dict.fromkeys(("leaves", "linear", "groups", "samples", "regions"), _thinned),
    "extents": _forged_extents,
    **dict.fromkeys(("basis", "frame", "centre", "coefficients", "weights", "normals", "points"), _one_scaled),
    "most_weight": _scaled,
    "equal_weights": lambda value, rng: not value,
}
