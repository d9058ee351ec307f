"""Certificates with one or a few fields changed, in ways that somebody would try who wants a false bound accepted."""

import json
import math

import numpy as np

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
