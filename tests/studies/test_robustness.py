"""The robustness experiment: its noise, its lengths, and what its command writes and refuses."""

import json

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

from hypermargin.cli import main
from hypermargin.estimators import HyperbolicSVC
from hypermargin_studies.robustness import METHODS, draw, measure, perturbed, size_table, typical_distance
from reference.objective import lift


def lorentz_distance(x, y):
    return np.arccosh(np.maximum(1.0, x[..., 0] * y[..., 0] - np.sum(x[..., 1:] * y[..., 1:], axis=-1)))


def test_noise_has_the_length_it_is_said_to_have_wherever_the_point_is():
    for place in ([0.0, 0.0], [3.0, -1.0], [0.0, 40.0]):
        X = lift(np.tile(place, (4000, 1)))
        lengths = lorentz_distance(X, perturbed(X, 0.5, np.random.default_rng(0)))
        assert np.sqrt(np.mean(lengths**2)) == pytest.approx(0.5, rel=0.03)


def test_typical_distance_is_the_median_to_another_class():
    rng = np.random.default_rng(1)
    X, y = lift(rng.normal(size=(30, 2))), rng.integers(3, size=30)
    nearest = [min(lorentz_distance(x, X[y != label])) for x, label in zip(X, y, strict=True)]
    assert typical_distance(X, y) == pytest.approx(np.median(nearest), rel=1e-6)


def test_accuracies_are_those_of_points_that_are_really_moved():
    """Robust accuracy in closed form against the worst of many points on the sphere of radius rho."""
    measured = {m["method"]: m for m in measure("gaussian_1", 0, (0.3,), ["exact", "exact, geodesic ball"])}
    X, X_test, y, y_test = draw("gaussian_1", 0)
    model = HyperbolicSVC(tol=1e-4).fit(X, y)
    rho = measured["exact"]["rho"]
    assert measured["exact"]["clean"] == model.score(X_test, y_test)
    angles = np.linspace(0, 2 * np.pi, 720)
    circle = lift(np.sinh(rho) * np.column_stack([np.cos(angles), np.sin(angles)]))
    safe = []
    for x, label in zip(X_test, y_test, strict=True):
        boost = np.eye(3)
        boost[0], boost[:, 0] = x, x
        boost[1:, 1:] += np.outer(x[1:], x[1:]) / (1 + x[0])
        safe.append(np.all(model.predict(lift((circle @ boost.T)[:, 1:])) == label))
    assert measured["exact"]["certified"] == measured["exact"]["attacked"] == pytest.approx(np.mean(safe), abs=1e-12)


def test_the_command_writes_a_table_a_figure_and_all_numbers(tmp_path, capsys):
    arguments = [
        "--datasets",
        "gaussian_1",
        "--seeds",
        "2",
        "--sizes",
        "0.3",
        "--methods",
        "exact;exact, box;euclidean",
    ]
    assert main(["robustness", *arguments, "--output", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "robustness.json").read_text())
    assert len(rows) == 2 * 3
    assert (tmp_path / "robustness.png").read_bytes()[:4] == b"\x89PNG"
    table = (tmp_path / "robustness.md").read_text()
    clean = 100 * np.mean([row["clean"] for row in rows if row["method"] == "euclidean"])
    plain = 100 * np.mean([row["clean"] for row in rows if row["method"] == "exact"])
    assert f"| euclidean | {clean:.1f} ({clean - plain:+.1f} ± 0.0)" in table
    assert "exact, box" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "nowhere"], "unknown data set 'nowhere'"),
        (["--methods", "exact;magic"], "unknown method 'magic'"),
        (["--methods", "euclidean"], "must name 'exact'"),
        (["--sizes", "a,b"], "--sizes must be numbers"),
        (["--sizes", "-1"], "--sizes must be positive"),
        (["--seeds", "0"], "--seeds must be at least 1"),
    ],
)
def test_the_command_refuses_in_one_line(arguments, message, capsys):
    assert main(["robustness", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_every_method_has_a_row_in_the_table():
    rows = list(measure("gaussian_1", 1, (0.1,), [name for name in METHODS if "pgd" not in name]))
    shown = [row[0].text for row in size_table(rows, 0.1).rows]
    assert shown == [name for name in METHODS if "pgd" not in name]
