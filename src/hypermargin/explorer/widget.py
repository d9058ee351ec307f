"""The page as a widget of Jupyter, where anywidget is installed: the same modules, the same scene."""

from typing import Any

from hypermargin.explorer.encoding import as_json
from hypermargin.explorer.html import joined_modules, page_file

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
