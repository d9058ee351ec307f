"""The progress picture against the history it draws."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from hypermargin import Solution, Status
from hypermargin.plotting import plot_history


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def solution(history):
    return Solution(
        w=np.array([0.0, 1.0, 0.0]),
        objective=2.0,
        lower_bound=1.9,
        status=Status.GAP_REMAINS,
        method="exact",
        history=history,
    )


def test_objective_and_bound_are_drawn_value_by_value():
    ax = plot_history(solution({"objective": [5.0, 3.0, 2.0], "lower_bound": [-np.inf, 1.0, 1.9], "other": [7.0]}))
    drawn = {line.get_label(): line for line in ax.lines}
    assert set(drawn) == {"objective", "lower bound"}
    np.testing.assert_array_equal(drawn["objective"].get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(drawn["objective"].get_ydata(), [5.0, 3.0, 2.0])
    np.testing.assert_array_equal(drawn["lower bound"].get_ydata(), [np.nan, 1.0, 1.9])
    shaded = ax.collections[0].get_paths()[0].get_extents()
    assert (shaded.x0, shaded.x1, shaded.y0, shaded.y1) == (2.0, 3.0, 1.0, 3.0)


def test_objective_alone_on_given_axes():
    ax = plt.subplots()[1]
    assert plot_history(solution({"objective": [2.0, 1.0]}), ax=ax) is ax
    assert len(ax.lines) == 1


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="by 'exact' keeps no history"):
        plot_history(solution({"steps": [1.0]}))
