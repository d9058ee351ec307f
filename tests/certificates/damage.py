"""Ways to damage a certificate: functions that change its plain form (`to_dict`) in place."""

import json

import numpy as np

from hypermargin.certificates import CertificateError, SoftMarginCertificate


def damaged(certificate, n_samples, rng, names):
    """A copy of the certificate with the damages of those names, one after the other; None where reading refuses it."""
    plain = {**json.loads(json.dumps(certificate.to_dict())), "n_samples": n_samples}
    for name in names:
        if plain["regions"]:
            DAMAGES[name](plain, rng)
    try:
        return SoftMarginCertificate.from_dict(plain)
    except CertificateError:
        return None


def some_region(plain, rng):
    return plain["regions"][rng.integers(len(plain["regions"]))]


def some_minorant(plain, rng):
    minorants = some_region(plain, rng)["minorants"]
    return minorants[rng.integers(len(minorants))]


def drop_interval(plain, rng):
    region = some_region(plain, rng)
    i = rng.integers(len(region["nodes"]))
    if len(region["nodes"]) > 1:
        del region["nodes"][i], region["minorants"][i if rng.random() < 0.5 else i - 1]


def move_node(plain, rng):
    region = some_region(plain, rng)
    i = rng.integers(len(region["nodes"]))
    region["nodes"][i] = region["nodes"][i] * float(np.exp(rng.normal())) + float(rng.choice([0.0, 0.0, 1e-3, -1e-3]))
    if rng.random() < 0.7:
        region["nodes"].sort()


def scale_weights(plain, rng):
    minorant = some_minorant(plain, rng)
    factor = float(rng.choice([-1.0, 0.5, 1.0 + 1e-6, 1.1, 2.0, 1e6, 1e100]))
    minorant[1] = [factor * weight for weight in minorant[1]]


def swap_minorants(plain, rng):
    first, second = some_region(plain, rng)["minorants"], some_region(plain, rng)["minorants"]
    i, j = rng.integers(len(first)), rng.integers(len(second))
    first[i], second[j] = second[j], first[i]


def change_cut(plain, rng):
    minorant = some_minorant(plain, rng)
    if minorant[0]:
        minorant[0][rng.integers(len(minorant[0]))] = int(rng.integers(-1, len(plain["points"]) + 2))


def change_chord(plain, rng):
    minorant = some_minorant(plain, rng)
    minorant[2] = float(rng.choice([0.0, -1.0, 1e-3, 1.0, 1e3])) + minorant[2] * float(rng.choice([0.0, 1.0, 3.0]))
    if rng.random() < 0.5:
        minorant[3] = some_region(plain, rng)["box"]


def drop_region(plain, rng):
    plain["regions"].remove(some_region(plain, rng))


def forget_box(plain, rng):
    some_region(plain, rng)["box"] = None


def move_box(plain, rng):
    """Shrink, shift or turn a box of directions: of a region, of a chord, or of both."""
    region = some_region(plain, rng)
    if region["box"] is None:
        return
    axis, side, low, high = json.loads(json.dumps(region["box"]))
    kind, j = rng.integers(4), rng.integers(len(low))
    if kind == 0:
        high[j] -= 0.25 * (high[j] - low[j])
    elif kind == 1:
        low[j], high[j] = low[j] - 0.25, high[j] + 0.25
    elif kind == 2:
        side, low[axis], high[axis] = -side, -low[axis], -high[axis]
    else:
        low[j], high[j] = high[j], low[j]
    if rng.random() < 0.7:
        region["box"] = [axis, side, low, high]
    if rng.random() < 0.7:
        for minorant in region["minorants"]:
            minorant[3] = [axis, side, low, high] if minorant[3] is not None else None


def turn_sign(plain, rng):
    region = some_region(plain, rng)
    region["sign"] = int(rng.choice([-region["sign"], 0]))


def move_points(plain, rng):
    points = np.array(plain["points"])
    if points.size:
        i = rng.integers(len(points))
        points[i] = points[i] * rng.choice([-1.0, 0.5, 1.0, 1e100]) + rng.normal(size=points.shape[1])
        plain["points"] = points[rng.permutation(len(points))].tolist() if rng.random() < 0.3 else points.tolist()


def move_centre(plain, rng):
    plain["centre"] = (np.array(plain["centre"]) + 10.0 ** rng.integers(-6, 3) * rng.normal()).tolist()


def change_threshold(plain, rng):
    plain["threshold"] = float(rng.choice([-np.inf, 0.0, 1.0 + 1e-9, 2.0, np.inf, np.nan]))


def give_duals(plain, rng):
    """Explicit weights far out of range in place of some cuts."""
    duals = rng.choice([-1.0, 0.0, 0.1, 10.0, 1e300, np.inf, np.nan], size=(2, plain["n_samples"]))
    plain["duals"] = duals.tolist()
    for _ in range(3):
        minorant = some_minorant(plain, rng)
        if minorant[0]:
            minorant[0][rng.integers(len(minorant[0]))] = len(plain["points"]) + int(rng.integers(2))


DAMAGES = {
    function.__name__: function
    for function in (
        drop_interval,
        move_node,
        scale_weights,
        swap_minorants,
        change_cut,
        change_chord,
        drop_region,
        forget_box,
        move_box,
        turn_sign,
        move_points,
        move_centre,
        change_threshold,
        give_duals,
    )
}
