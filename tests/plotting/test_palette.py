"""Colours as colour-blind readers see them."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from hypermargin.plotting.palette import CLASS_COLOURS

# Machado, Oliveira and Fernandes (2009), severity 1.0, acting on linear RGB.
SIMULATIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def lab(linear):
    """CIE L*a*b* (D65) of linear RGB."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    small = xyz / [0.9505, 1.0, 1.089] < 0.008856
    f[small] = 7.787 * (xyz / [0.9505, 1.0, 1.089])[small] + 16.0 / 116.0
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


@pytest.mark.parametrize("sight", SIMULATIONS)
@pytest.mark.parametrize(("n_classes", "apart"), [(2, 40.0), (7, 14.0), (20, 10.0)])
def test_colours_stay_apart(sight, n_classes, apart):
    """A difference of about 2.3 is just noticeable, 10 is plain."""
    seen = []
    for colour in CLASS_COLOURS[:n_classes]:
        rgb = np.array(to_rgb(colour))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        seen.append(lab(np.clip(np.asarray(SIMULATIONS[sight]) @ linear, 0.0, 1.0)))
    closest = min(itertools.combinations(range(n_classes), 2), key=lambda p: np.linalg.norm(seen[p[0]] - seen[p[1]]))
    assert np.linalg.norm(seen[closest[0]] - seen[closest[1]]) > apart, [CLASS_COLOURS[k] for k in closest]
