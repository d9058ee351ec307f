"""Settings of the site. `make docs` builds it into docs/_build/html, and stops at the first warning."""

import os
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
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**.md5", "gallery/**.ipynb", "tutorials/*.md5", "tutorials/*.ipynb"]
suppress_warnings = ["config.cache", "myst.header"]  # generated tables begin with small headings

# Pages are Markdown; links between them are checked by their headings as well.
myst_heading_anchors = 3
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Links to other projects need their inventories from the network: DOCS_ONLINE=1 fetches them.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
    "anndata": ("https://anndata.readthedocs.io/en/stable", None),
}
if not os.environ.get("DOCS_ONLINE"):
    intersphinx_mapping = {}

# Docstrings are in numpy's style, with names in single backticks: links where the name is in the reference.
default_role = "py:obj"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # as a list, with trailing underscores
autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_title = "hypermargin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_build/extra"]
html_copy_source = False
html_show_sphinx = False

sphinx_gallery_conf = {
    "examples_dirs": ["_build/tutorials", "_build/examples"],
    "gallery_dirs": ["tutorials", "gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "generated_pages.InGivenOrder",
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


EXAMPLES = generated_pages.examples()


def add_example(app, what, name, thing, options, lines):
    """Put the example of a public name below its docstring, where that has none of its own."""
    if name in EXAMPLES and not any(">>>" in line for line in lines):
        lines += ["", "Examples", "--------", *EXAMPLES[name].strip().splitlines(), ""]


def setup(app):
    app.connect("autodoc-process-docstring", add_example, priority=400)  # before napoleon reads the sections
    app.connect("autodoc-skip-member", skip_what_others_wrote)
