"""One page that needs nothing else: the style, the modules of `page/` joined into one, and the scene."""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from hypermargin.explorer.encoding import as_json

#: The modules in an order in which each comes after those it imports.
MODULES = (
    "mobius.js",
    "models.js",
    "decode.js",
    "view.js",
    "level_sets.js",
    "marks.js",
    "webgl.js",
    "display_list.js",
    "canvas_points.js",
    "layers.js",
    "scene.js",
    "picking.js",
    "gestures.js",
    "keys.js",
    "dom.js",
    "legend.js",
    "details.js",
    "proof.js",
    "path.js",
    "export.js",
    "controls.js",
    "painter.js",
    "explorer.js",
)
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)


def page_file(name: str) -> str:
    """The text of a file of the folder `page`."""
    return files("hypermargin.explorer").joinpath("page", name).read_text(encoding="utf-8")


@cache
def joined_modules(modules: Sequence[str] = MODULES) -> str:
    """The modules as one: in this order nothing is left for their imports to do, so they go, and `export` with them.

    What a module imports must come before it, and no two may define the same name.
    """
    parts, seen = [], set()
    for name in modules:
        text = page_file(name)
        for _, source in _IMPORT.findall(text):
            if source not in seen:
                raise ValueError(f"{name} imports {source}, which must come before it")
        seen.add(name)
        parts.append(f"// {name}\n{_EXPORT.sub('', _IMPORT.sub('', text)).strip()}\n")
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
