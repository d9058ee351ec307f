"""`explore`: a page to look at points and classifiers in the hyperbolic plane, by moving it."""

import os
from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.explorer.html import page_html
from hypermargin.explorer.scene import Samples, make_scene
from hypermargin.explorer.widget import make_widget


class Explorer:
    """A page about points and models. Made by `explore`; shows itself in a notebook.

    Attributes
    ----------
    scene : dict
        What the page is told, as plain values.
    """

    def __init__(self, scene: dict[str, Any]) -> None:
        self.scene = scene

    def html(self) -> str:
        """The page, which needs no network and no other file."""
        return page_html(self.scene)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the page to a file and return its path; an existing file that is not a page is not overwritten."""
        target = Path(path)
        if target.is_file():
            with target.open("rb") as file:
                if file.read(9).lower() not in (b"", b"<!doctype"):
                    raise FileExistsError(f"{target} exists and is not a page; choose another name")
        target.write_text(self.html(), encoding="utf-8")
        return target

    @cached_property
    def widget(self) -> Any:
        """The page as a Jupyter widget (needs anywidget); ``widget.selected`` is the id of the chosen point."""
        return make_widget(self.scene)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        try:
            return self.widget._repr_mimebundle_(**options)
        except ImportError:
            frame = '<iframe srcdoc="{}" style="width:100%;height:680px;border:0"></iframe>'
            return {"text/html": frame.format(escape(self.html())), "text/plain": repr(self)}

    def __repr__(self) -> str:
        names = ", ".join(model["name"] for model in self.scene["models"]) or "no model"
        return f"Explorer({self.scene['count']} points, {names}); save('page.html') writes the page"


def explore(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    ids: Sequence[Any] | None = None,
    ids_test: Sequence[Any] | None = None,
    path: int | Sequence[float] | None = None,
    geometry: str | None = None,
    curvature: float | None = None,
    center: str = "mean",
    title: str = "hypermargin explorer",
) -> Explorer:
    """A page to look at a fitted classifier: drag the plane, zoom, ask every point what the model says and how surely.

    Parameters
    ----------
    model : fitted classifier, list or mapping of name to classifier, or None
        Any classifier with ``predict`` can be shown; what else it offers (``predict_proba``, ``decision_function``,
        ``certified_radius``, ``nearest_adversarial``) is told of every point. None shows the points alone.
    X, y : points and labels
        In the coordinates that the model takes. Without `y` points have no colour and no margin.
    X_test, y_test : arrays, optional
        Test points, drawn as triangles.
    ids, ids_test : sequences, optional
        Names of the points, to search for; their numbers otherwise.
    path : int or sequence of float, optional
        Adds a slider over C: the first model is fitted anew to X and y for so many values around its own C (or for
        those given), and every step comes with its objective, certified bound, gap and the picture of the proof.
    geometry, curvature : optional
        What the coordinates are; read from the model where it says so. Without a model: "lorentz" and 1.
    center : {"mean", "origin"}
        What is at the middle at first.
    title : str

    Returns
    -------
    Explorer
        ``save(path)`` writes the page; in a notebook it shows itself.

    Notes
    -----
    Points of more than two dimensions are seen as their nearest points on the best totally geodesic plane (tangent
    principal components at the Fréchet mean), and the page says so; boundaries are where the plane meets them.
    """
    if center not in ("mean", "origin"):
        raise ValueError(f"center must be 'mean' or 'origin', got {center!r}")
    if not len(X):
        raise ValueError("X holds no points: there is nothing to explore")
    samples = Samples(
        X,
        None if y is None else np.asarray(y),
        ids,
        X_test,
        None if y_test is None else np.asarray(y_test),
        ids_test,
    )
    scene = make_scene(model, samples, title=title, path=path, geometry=geometry, curvature=curvature, center=center)
    return Explorer(scene)
