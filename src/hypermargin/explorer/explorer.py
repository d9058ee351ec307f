"""`explore`: a page (and a widget) to look at points and classifiers by moving the hyperbolic plane.

The page needs no other file: the style, the modules of `page/` joined into one, and the scene.
"""

import os
import re
from collections.abc import Sequence
from functools import cache, cached_property
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hypermargin.explorer.encoding import as_json
from hypermargin.explorer.scene import ShownPoints, make_scene


class Explorer:
    """A page about points and models. Made by `explore`; shows itself in a notebook.

    Attributes
    ----------
    scene : dict
        The content of the page, as plain values.
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
    edges: ArrayLike | None = None,
) -> Explorer:
    """A page to look at a fitted classifier: drag the plane, zoom, see the prediction of each point and how sure it is.

    Parameters
    ----------
    model : fitted classifier, list or mapping of name to classifier, or None
        Any classifier with ``predict`` can be shown; the results of its other methods (``predict_proba``,
        ``decision_function``, ``certified_radius``, ``nearest_adversarial``) are shown for each point. None shows the
        points alone.
    X, y : points and labels
        In the coordinates that the model takes. Points without a label (None, NaN or "", or no `y` at all) are grey
        rings: they are never called right or wrong.
    X_test, y_test : arrays, optional
        Test points, drawn as triangles.
    ids, ids_test : sequences, optional
        Names of the points, to search for; their numbers otherwise.
    path : int or sequence of float, optional
        Adds a slider over C: the first model is refitted to X and y for this many values around its own C (or for the
        values given), and each step has its objective, certified bound, gap and the picture of the proof.
    geometry, curvature : optional
        What the coordinates are; by default those of the model. Without a model: "lorentz" and 1.
    center : {"mean", "origin"}
        The point in the middle at first.
    title : str
    edges : (m, 2) array of int, optional
        Pairs of rows of X, and then of X_test, to join by geodesics, as in a graph.

    Returns
    -------
    Explorer
        ``save(path)`` writes the page; in a notebook it shows itself.

    Notes
    -----
    Points of more than two dimensions are shown as their nearest points on the best totally geodesic plane (tangent
    principal components at the Fréchet mean), and the page says so; boundaries are intersected with this plane.
    """
    if center not in ("mean", "origin"):
        raise ValueError(f"center must be 'mean' or 'origin', got {center!r}")
    if not len(X):
        raise ValueError("X holds no points: there is nothing to explore")
    samples = ShownPoints(
        X,
        None if y is None else np.asarray(y),
        ids,
        X_test,
        None if y_test is None else np.asarray(y_test),
        ids_test,
    )
    scene = make_scene(
        model, samples, title=title, path=path, geometry=geometry, curvature=curvature, center=center, edges=edges
    )
    return Explorer(scene)


# -- the page ----------------------------------------------------------------------------------------------------------

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


def page_file(name: str) -> str:
    """The text of a file of the folder `page`."""
    return files("hypermargin.explorer").joinpath("page", name).read_text(encoding="utf-8")


@cache
def joined_modules(last: str = "explorer.js") -> str:
    """A module and all that it imports as one, without `import` and `export`: each comes after its imports.

    No two modules may define the same name.
    """
    parts: list[str] = []
    seen: set[str] = set()

    def add(name: str) -> None:
        seen.add(name)
        text = page_file(name)
        for _, source in _IMPORT.findall(text):
            if source not in seen:
                add(source)
        parts.append(f"// {name}\n{_EXPORT.sub('', _IMPORT.sub('', text)).strip()}\n")

    add(last)
    return "\n".join(parts)


def page_html(scene: dict[str, Any]) -> str:
    """The page of a scene."""
    parts = {
        "TITLE": escape(scene["title"]),
        "STYLE": page_file("explorer.css"),
        "MODULES": joined_modules(),
        "SCENE": as_json(scene),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], page_file("page.html"))


# -- the widget --------------------------------------------------------------------------------------------------------

_RENDER = """
function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "hm-explorer hm-widget";
  el.append(root);
  const explorer = createExplorer(root, JSON.parse(model.get("scene")));
  explorer.onSelect((id) => { model.set("selected", id); model.save_changes(); });
  model.on("change:selected", () => explorer.selectId(model.get("selected")));
  return () => explorer.close();
}
export default { render };
"""


def make_widget(scene: dict[str, Any]) -> Any:
    """A widget that shows the scene. Its trait `selected` is the id of the chosen point, both ways."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError(
            "the widget needs anywidget: pip install 'hypermargin[widget]'; without it save the page and open that"
        ) from error

    class ExplorerWidget(anywidget.AnyWidget):
        _esm = joined_modules() + _RENDER
        _css = page_file("explorer.css")
        scene = traitlets.Unicode().tag(sync=True)
        selected = traitlets.Unicode("").tag(sync=True)

    return ExplorerWidget(scene=as_json(scene))
