"""Settings of the site. `make docs` builds it into docs/_build/html, and stops at the first warning."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generated_pages  # noqa: E402 - found through the line above

import hypermargin  # noqa: E402

project = "hypermargin"
author = "the hypermargin developers"
copyright = author
release = version = hypermargin.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.md5", "gallery/*.ipynb"]
suppress_warnings = ["config.cache", "myst.header"]  # generated tables begin with small headings

# Pages are Markdown; links between them are checked by their headings as well.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# Docstrings are in numpy's style, with names in single backticks.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_title = "hypermargin"
html_static_path = []
html_extra_path = ["_build/extra"]
html_copy_source = False
html_show_sphinx = False

sphinx_gallery_conf = {
    "examples_dirs": ["_build/examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}

generated_pages.make_all(HERE)


def skip_what_others_wrote(app, what, name, member, skip, options):
    """Leave out what classes inherit from other packages, which is documented there."""
    module = getattr(member, "__module__", None) or ""
    return True if callable(member) and not module.startswith("hypermargin") else skip


def setup(app):
    app.connect("autodoc-skip-member", skip_what_others_wrote)
