"""Proofs of optimality and the progress of solvers: `ProofDisplay`, `plot_history`, and both in one figure."""

from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from hypermargin.arrays import Array
from hypermargin.certificates import HardMarginCertificate, SoftMarginCertificate
from hypermargin.geometry.isometries import translation_to_origin
from hypermargin.geometry.lorentz import lift
from hypermargin.plotting.curves import LeastObjective, ProofCurves
from hypermargin.problems.margin import MarginProblem
from hypermargin.solvers.base import Solution

_SERIES = (("objective", "objective", "#0072B2", "solid"), ("lower_bound", "lower bound", "#D55E00", "dashed"))
OBJECTIVE, ENVELOPE, INTERVALS, FAINT = "#0072B2", "#D55E00", "#009E73", "#909090"
#: The picture shows the t at which the least objective is at most this many times the optimum.
SHOWN_LEVEL = 2.0
AXIS = "t, the time coordinate of w where the data are centred"
Zoom = str | tuple[float, float] | None


class ProofDisplay:
    """A picture of a certificate over ``t``, the time coordinate of w in its frame. Made by `from_solution`.

    Parameters
    ----------
    certificate : Certificate
    problem : MarginProblem
        The soft-margin problem that it is about.
    w : (d + 1,) array, optional
        The w that was found, in the coordinates of the data.
    objective : float, optional
        Its objective.
    lower_bound : float, optional
        The bound that the certificate proves.
    is_optimal : bool
        Whether `w` may be called the optimum.
    is_hard : bool
        Whether `w` answers the hard margin, which the soft-margin problem bounds from below.

    Attributes
    ----------
    ax_, figure_ : the axes and the figure.
    envelope_ : Line2D
        E(t), the lowest over regions of the largest minorant: no w with this t has a smaller objective.
    objective_ : Line2D or None
        The least objective found among all w with this t (see `curves.LeastObjective`).
    intervals_ : LineCollection
        The bounds of the intervals, a level segment for each.
    minorants_ : LineCollection
        The minorants; with more than one region per sign, the envelopes of the regions.
    optimum_ : Line2D or None
    bound_ : Line2D or None
    """

    def __init__(
        self,
        certificate: SoftMarginCertificate,
        problem: MarginProblem,
        *,
        w: Array | None = None,
        objective: float = np.inf,
        lower_bound: float = -np.inf,
        is_optimal: bool = False,
        is_hard: bool = False,
    ) -> None:
        self.problem = problem
        self.centre = lift(certificate.centre)
        self.curves = ProofCurves(certificate, problem)
        self.least = LeastObjective(problem, self.centre)
        self.w = np.zeros(problem.dim + 1) if w is None else translation_to_origin(self.centre) @ w
        self.objective, self.lower_bound = float(objective), float(lower_bound)
        self.is_optimal, self.is_hard = is_optimal, is_hard

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        problem: MarginProblem,
        *,
        ax: Axes | None = None,
        zoom: Zoom = "optimum",
        resolution: int = 81,
        legend: bool = True,
    ) -> "ProofDisplay":
        """Draw the certificate of `solution`, which solves `problem`; the other parameters are those of `plot`."""
        return cls.make(solution, problem).plot(ax, zoom=zoom, resolution=resolution, legend=legend)

    @classmethod
    def make(cls, solution: Solution, problem: MarginProblem) -> "ProofDisplay":
        """The display of `solution` before it is drawn; a `ValueError` if it has no such proof."""
        certificate = solution.certificate
        if certificate is not None:
            certificate.require_about(problem)
        if isinstance(certificate, HardMarginCertificate):
            problem, certificate = replace(problem, C=certificate.C), certificate.soft
        if not isinstance(certificate, SoftMarginCertificate):
            if certificate is None:
                raise ValueError(f"the solution by {solution.method!r} has no certificate to draw; use method='exact'")
            raise ValueError(
                f"there are no curves to draw: the certificate proves something else ({solution.status.value})"
            )
        return cls(
            certificate,
            problem,
            w=solution.w,
            objective=solution.objective,
            lower_bound=solution.lower_bound,
            is_optimal=solution.status.is_proved,
            is_hard=isinstance(solution.certificate, HardMarginCertificate),
        )

    def plot(
        self, ax: Axes | None = None, *, zoom: Zoom = "optimum", resolution: int = 81, legend: bool = True
    ) -> "ProofDisplay":
        """Draw on `ax`, or on a new figure.

        Parameters
        ----------
        ax : Axes, optional
        zoom : "optimum", None or (low, high)
            Show the t where the least objective is below twice the optimum, all intervals, or a range of t.
        resolution : int
            Points of the curve of the objective, each a small optimisation; 0 leaves the curve out.
        legend : bool
        """
        low, high = self.limits(zoom)
        ax = plt.subplots(figsize=(7.2, 4.8), layout="constrained")[1] if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        t = self.grid(low, high, 1201)
        regions = self.curves.region_envelopes(t)
        envelope = np.nanmin(regions, axis=0)
        faint = regions if self.curves.n_regions > 2 else self.curves.simple_minorants(t)
        self.minorants_ = _faint_lines(t, faint)
        ax.add_collection(self.minorants_, autolim=False)
        ax.fill_between(t, envelope, -1e300, color=ENVELOPE, alpha=0.06, linewidth=0)
        self.intervals_ = self._draw_intervals()
        (self.envelope_,) = ax.plot(t, envelope, color=ENVELOPE, linewidth=1.8, zorder=2.6, label="lower envelope E(t)")
        self.objective_ = self._draw_objective(low, high, resolution)
        self.bound_ = self._draw_bound()
        self.optimum_ = self._draw_optimum()
        ax.set(xlim=(low, high), ylim=self._levels(envelope), xlabel=AXIS, ylabel="objective")
        ax.set_title(self._title(), loc="left", fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        if legend:
            self._legend()
        return self

    # -- what is shown -------------------------------------------------------------------------------------------------

    def limits(self, zoom: Zoom) -> tuple[float, float]:
        """The least and the greatest t to show; `zoom` as in `plot`."""
        behind, ahead = (self.curves.last_node[sign] for sign in (-1, 1))
        t = float(self.w[0])
        widest = 1.1 * max(behind, ahead, abs(t), 1e-12)
        if zoom is None:
            return -widest, widest
        if zoom == "optimum":
            return self._edge(-1, 2.0 * widest), self._edge(1, 2.0 * widest)
        if isinstance(zoom, str):
            raise ValueError(f"zoom must be 'optimum', None or (low, high), got {zoom!r}")
        low, high = (float(value) for value in zoom)
        if not low < high:
            raise ValueError(f"zoom must be (low, high) with low < high, got {zoom!r}")
        return low, high

    def _edge(self, sign: int, farthest: float) -> float:
        """The t on one side of the optimum where the least objective reaches the level to show, roughly."""
        t, near, far = float(self.w[0]), 1e-9 * farthest, farthest
        while far > 1.1 * near:
            middle = float(np.sqrt(near * far))
            above = self.least.at(t + sign * middle, self.w[1:])[0] > SHOWN_LEVEL * self._height()
            near, far = (near, middle) if above else (middle, far)
        return t + sign * far

    def grid(self, low: float, high: float, size: int) -> Array:
        """Even positions, those near the optimum, t = 0 and the nodes: where the curves bend."""
        steps = np.geomspace(1e-5, 0.1, 60)
        near = self.w[0] + (high - low) * np.concatenate([-steps, [0.0], steps])
        nodes = np.concatenate([sign * self.curves.steps(sign)[0][:-1] for sign in (-1, 1)])
        grid = np.concatenate([np.linspace(low, high, size), near, nodes if nodes.size < size else [0.0]])
        return np.unique(grid[(grid >= low) & (grid <= high)])

    def _levels(self, envelope: Array) -> tuple[float, float]:
        """The least and the greatest objective to show."""
        base = self.lower_bound if np.isfinite(self.lower_bound) else float(envelope.min())
        curve = envelope if self.objective_ is None else np.asarray(self.objective_.get_ydata())
        top = min(float(curve.max()), SHOWN_LEVEL * self._height())
        top = max(top, base + 1e-9 * max(abs(base), 1e-9))
        return base - 0.5 * (top - base), top + 0.05 * (top - base)

    def _height(self) -> float:
        """What counts as the height of the optimum: positive, and above the rounding of the objective."""
        value = self.objective if np.isfinite(self.objective) else self.lower_bound
        return max(value, 1e-9 * self.problem.risk(np.zeros(self.problem.dim + 1)))

    # -- the parts -----------------------------------------------------------------------------------------------------

    def _draw_intervals(self) -> LineCollection:
        segments = []
        for sign in (-1, 1):
            edges, bounds = self.curves.steps(sign)
            ends = np.minimum(edges, 1e3 * (1.0 + self.curves.last_node[sign]))
            segments += [[(sign * p, v), (sign * q, v)] for p, q, v in zip(ends, ends[1:], bounds, strict=False)]
        intervals = LineCollection(segments, colors=INTERVALS, linewidths=1.6, zorder=2.4)
        self.ax_.add_collection(intervals, autolim=False)
        nodes = np.array([start for start, _ in segments])
        self.ax_.plot(*nodes.T, "|", color=INTERVALS, markersize=9, zorder=2.4, scalex=False, scaley=False)
        return intervals

    def _draw_objective(self, low: float, high: float, resolution: int) -> Line2D | None:
        if not resolution:
            return None
        t = np.linspace(low, high, resolution)
        if low < self.w[0] < high:  # one side is often far narrower than the other
            half = resolution // 2 + 1
            t = np.unique(np.concatenate([np.linspace(low, self.w[0], half), np.linspace(self.w[0], high, half)]))
        values = self.least.along(t, self.w)
        soft = f"least soft objective found at t, C = {self.problem.C:g}"
        label = soft if self.is_hard else "least objective found at t"
        return self.ax_.plot(t, values, color=OBJECTIVE, linewidth=1.8, zorder=2.8, label=label)[0]

    def _draw_bound(self) -> Line2D | None:
        if not np.isfinite(self.lower_bound):
            return None
        style: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": (0, (5, 3)), "zorder": 2.2}
        return self.ax_.axhline(self.lower_bound, label=f"lower bound {self.lower_bound:.6g}", **style)

    def _draw_optimum(self) -> Line2D | None:
        if not np.isfinite(self.objective):
            return None
        label = f"{'optimum' if self.is_optimal else 'best w found'} {self.objective:.6g}"
        style: dict[str, Any] = {"marker": "o", "markersize": 8, "mfc": "white", "mec": "black"}
        return self.ax_.plot([self.w[0]], [self.objective], linestyle="none", zorder=3.2, label=label, **style)[0]

    def _title(self) -> str:
        curves = self.curves
        regions = "both signs of t" if curves.n_regions <= 2 else f"{curves.n_regions} regions of t and direction"
        gap = (self.objective - self.lower_bound) / max(abs(self.objective), 1e-12)
        proved = f"gap {max(gap, 0.0):.0e}" if np.isfinite(gap) else "no gap"
        return f"{regions}, {curves.n_intervals} intervals, {curves.n_cuts} cuts: {proved}"

    def _legend(self) -> None:
        name = "minorants" if self.curves.n_regions <= 2 else f"envelopes of the {self.curves.n_regions} regions"
        proved = Line2D([], [], color=INTERVALS, marker="|", label="what each interval proves")
        faint = Line2D([], [], color=FAINT, linewidth=0.8, label=name)
        handles = [self.objective_, self.envelope_, proved, faint, self.bound_, self.optimum_]
        self.ax_.legend(handles=[handle for handle in handles if handle], fontsize="small", edgecolor="none")


def _faint_lines(t: Array, curves: Array) -> LineCollection:
    lines = [np.column_stack([t, curve])[np.isfinite(curve)] for curve in curves]
    alpha = float(np.clip(12.0 / max(len(lines), 1), 0.12, 0.6))
    return LineCollection(lines, colors=FAINT, linewidths=0.8, alpha=alpha, zorder=2.0)


# -- the search --------------------------------------------------------------------------------------------------------


def plot_history(solution: Solution, *, ax: Axes | None = None) -> Axes:
    """Draw objective and lower bound by iteration, as far as `solution.history` has them; returns the axes.

    Infinite values (no bound yet) are left out. The gap between the two is shaded.
    """
    series = _history(solution)
    if not series:
        raise ValueError(f"the solution by {solution.method!r} keeps no history of its objective or bound to draw")
    if ax is None:
        ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")[1]
    for key, label, colour, dashes in _SERIES:
        if key in series:
            marker = "o" if series[key].size <= 60 else None
            steps = np.arange(1, series[key].size + 1)
            ax.plot(steps, series[key], label=label, color=colour, linestyle=dashes, marker=marker, markersize=3)
    if len(series) == 2:
        shared = min(values.size for values in series.values())
        upper, lower = series["objective"][:shared], series["lower_bound"][:shared]
        ax.fill_between(np.arange(1, shared + 1), lower, upper, color="#0072B2", alpha=0.08, linewidth=0)
    ax.set(xlabel="iteration", ylabel=f"objective ({solution.loss} loss)", title=solution.method)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _history(solution: Solution) -> dict[str, Array]:
    """Objective and bound by iteration, as far as they are there; NaN for infinite values."""
    series = {key: np.asarray(solution.history.get(key, ()), dtype=np.float64) for key, *_ in _SERIES}
    return {key: np.where(np.isfinite(values), values, np.nan) for key, values in series.items() if values.size}


# -- both --------------------------------------------------------------------------------------------------------------


def plot_proof(solution: Solution, problem: MarginProblem, *, zoom: Zoom = "optimum", resolution: int = 81) -> Figure:
    """A figure of three panels: `ProofDisplay` of the solution; how its bounds met (`plot_history`); their gap.

    A solution that was optimal from the start has no history; the figure then has the first panel alone.
    """
    display = ProofDisplay.make(solution, problem)
    if not _history(solution):
        figure = display.plot(zoom=zoom, resolution=resolution).ax_.get_figure(root=True)
        assert figure is not None
        return figure
    figure, panels = plt.subplot_mosaic(
        [["proof", "bounds"], ["proof", "gap"]],
        figsize=(12.0, 5.4),
        layout="constrained",
        width_ratios=(3, 2),
        height_ratios=(3, 2),
    )
    display.plot(panels["proof"], zoom=zoom, resolution=resolution)
    plot_history(solution, ax=panels["bounds"])
    panels["bounds"].set(title="", xlabel="")
    panels["bounds"].set_title("how the bounds met", loc="left", fontsize="medium")
    _draw_gap(panels["gap"], solution)
    panels["gap"].sharex(panels["bounds"])
    return figure


def _draw_gap(ax: Axes, solution: Solution) -> None:
    """The relative gap of the history on a logarithmic scale; a gap closed to the last digit is left out."""
    series = _history(solution)
    size = min(series[key].size if key in series else 0 for key in ("objective", "lower_bound"))
    upper, lower = (series.get(key, np.empty(0))[:size] for key in ("objective", "lower_bound"))
    gap = (upper - lower) / np.maximum(np.abs(upper), 1e-12)
    gap[~(gap > 0.0)] = np.nan
    marker = "o" if size <= 60 else None
    ax.plot(np.arange(1, size + 1), gap, color="black", linewidth=1.2, marker=marker, markersize=3)
    ax.set(yscale="log", xlabel="step of the search", ylabel="relative gap")
    ax.spines[["top", "right"]].set_visible(False)
