"""What the site has besides its pages: the examples as a gallery, the reference of public names, a live explorer."""

import importlib
import inspect
import shutil
import tomllib
from pathlib import Path
from types import ModuleType

import hypermargin

HERE = Path(__file__).parent
#: The packages of the reference, with a title each: what most users need comes first.
PACKAGES = {
    "hypermargin.estimators": "Classifiers",
    "hypermargin.datasets": "Data sets",
    "hypermargin.plotting": "Pictures",
    "hypermargin.explorer": "Explorer",
    "hypermargin.anndata": "Cells (AnnData)",
    "hypermargin.graphs": "Graphs",
    "hypermargin.embedding": "Embedding graphs",
    "hypermargin.geometry": "Geometry",
    "hypermargin.kernels": "Kernels",
    "hypermargin.problems": "Problems",
    "hypermargin.solvers": "Solvers",
    "hypermargin.certificates": "Certificates",
    "hypermargin.passes": "Data in blocks",
}
#: The gallery: files of the folder ``examples`` by section, in the order of the page.
SECTIONS = {
    "First steps": ["gaussian_in_ten_lines", "karate_club", "tree_and_proof", "pipelines_and_grid_search"],
    "Your data": ["cells_with_anndata", "edge_list", "graph_to_predictions", "word_vectors", "many_points"],
    "Models": [
        *("choose_a_model", "rare_branch", "imbalanced_tree", "generalised_hyperplanes", "kernels_side_by_side"),
        "robust_training",
    ],
    "Predictions": ["calibrated_probabilities", "explain_a_prediction", "the_origin_does_not_matter"],
    "Proofs and solvers": [
        *("certificate_for_a_colleague", "proof_of_optimality", "compare_methods", "speed", "your_own_solver"),
    ],
}
#: Errors and warnings that users meet, with the module that defines each.
ERRORS = {
    "PointError": "hypermargin.geometry.validation",
    "WeightError": "hypermargin.problems.margin",
    "FileError": "hypermargin.safe_io",
    "CertificateError": "hypermargin.certificates",
    "RadiusWarning": "hypermargin.data.ingest",
    "GeometryWarning": "hypermargin.data.inspecting",
    "KleinWarning": "hypermargin.data.ingest",
    "KernelMemoryWarning": "hypermargin.estimators",
    "KernelSpreadWarning": "hypermargin.estimators",
}
GALLERY = """Examples
========

Short programs for one task each, executed when this site was built. They are the files of the folder ``examples`` of
the repository; every page has a link to download its program.
"""
TUTORIALS = """Tutorials
=========

Five lessons, from the first classifier to the proof behind it. All of them were executed when this site was built: the
output and the pictures are what you get.
"""


def make_all(docs: Path) -> None:
    """Write everything that is generated below `docs`."""
    examples = docs.parent / "examples"
    names = {path.stem for path in examples.glob("*.py")}
    if names != {name for section in SECTIONS.values() for name in section}:
        raise RuntimeError("docs/generated_pages.py: SECTIONS does not list the files of examples")
    lessons = sorted((examples / "tutorials").glob("*.py"))
    _copy_programs({"": lessons}, docs / "_build" / "tutorials", TUTORIALS)
    sections = {title: [examples / f"{name}.py" for name in own] for title, own in SECTIONS.items()}
    _copy_programs(sections, docs / "_build" / "examples", GALLERY)
    _write_reference(docs / "api")
    _write_explorer(docs / "_build" / "extra")


def _copy_programs(sections: dict[str, list[Path]], target: Path, opening: str) -> None:
    """Programs by section, each in a folder where it may leave pictures; a nameless section is `target`."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "GALLERY_HEADER.rst").write_text(opening, encoding="utf-8")
    for number, (title, programs) in enumerate(sections.items(), start=1):
        folder = target / (f"{number}_{title.lower().replace(' ', '_')}" if title else "")
        folder.mkdir(exist_ok=True)
        if title:
            (folder / "GALLERY_HEADER.rst").write_text(f"{title}\n{'-' * len(title)}\n", encoding="utf-8")
        for program in programs:
            shutil.copy(program, folder)


class InGivenOrder:
    """The order of the programs of a section, for sphinx-gallery: that of `SECTIONS`; lessons have numbers."""

    def __init__(self, folder: str) -> None:
        self.order = [f"{name}.py" for names in SECTIONS.values() for name in names]

    def __call__(self, name: str) -> tuple[int, str]:
        return (self.order.index(name) if name in self.order else -1, name)


def public_names(module: ModuleType) -> list[str]:
    """What a package offers: `__all__`, or what is defined in it without a leading underscore."""
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", None) == module.__name__]
    names = getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")]
    return sorted(names, key=str.lower)


def _write_reference(target: Path) -> None:
    """A page per class, one per package with its functions, and one that lists the packages.

    Unchanged pages are left alone, because Sphinx builds a page again when its file is newer.
    """
    if set(PACKAGES) != {f"hypermargin.{name}" for name in hypermargin.PACKAGES}:
        raise RuntimeError("docs/generated_pages.py: PACKAGES does not list the public packages of hypermargin")
    target.mkdir(exist_ok=True)
    made = {"index.rst"}
    for package, title in PACKAGES.items():
        module = importlib.import_module(package)
        things = {name: getattr(module, name) for name in public_names(module)}
        classes = [name for name, thing in things.items() if inspect.isclass(thing)]
        short = package.rpartition(".")[2]
        parts = [title, "=" * len(title), "", f"``{package}``: {_opening(module.__doc__)}", ""]
        if classes:
            rows = [line for name in classes for line in _row(package, name, things[name])]
            parts += [".. list-table::", "   :widths: 35 65", "", *rows, ""]
            parts += [".. toctree::", "   :hidden:", "", *(f"   {short}.{name}" for name in classes), ""]
        for name, thing in things.items():
            if name not in classes:
                parts += [*_directive(package, name, thing), ""]
        pages = {f"{short}.rst": "\n".join(parts)}
        for name in classes:
            body = [name, "=" * len(name), "", *_directive(package, name, things[name]), ""]
            pages[f"{short}.{name}.rst"] = "\n".join(body)
        for page, text in pages.items():
            _write(target / page, text)
        made |= pages.keys()
    _write(target / "errors.rst", _errors())
    made.add("errors.rst")
    names = [*(f"   {package.rpartition('.')[2]}" for package in PACKAGES), "   errors"]
    top = ", ".join(f"``{name}``" for name in sorted(hypermargin.__all__, key=str.lower))
    opening = (
        f"Everything public. The most used names can be imported from ``hypermargin`` itself: {top}. Examples assume "
        "``import numpy as np``, ``import networkx`` and ``import hypermargin as hm``."
    )
    contents = ["", ".. toctree::", "   :maxdepth: 2", "", *names, ""]
    _write(target / "index.rst", "\n".join(["API reference", "=============", "", opening, *contents]))
    for page in target.glob("*.rst"):
        if page.name not in made:
            page.unlink()


def _errors() -> str:
    """The page of errors and warnings."""
    title = "Errors and warnings"
    opening = (
        "Mistakes end in a ``ValueError`` or a ``TypeError`` with one sentence that says what is wrong and what to do. "
        "These have names of their own, so that they can be caught. On the command line an error is one line, and the "
        "exit code is 2."
    )
    parts = [title, "=" * len(title), "", opening, ""]
    for name, module in ERRORS.items():
        public = module.count(".") == 1  # it has a page of its own
        parts += [f":py:class:`~{module}.{name}`", ""] if public else []
        parts += [] if public else [f".. autoexception:: {module}.{name}", "   :show-inheritance:", ""]
    return "\n".join(parts)


def examples() -> dict[str, str]:
    """The examples of reference_examples.toml by full name."""
    read = tomllib.loads((HERE / "reference_examples.toml").read_text(encoding="utf-8"))
    return {f"hypermargin.{package}.{name}": text for package, own in read.items() for name, text in own.items()}


def _row(package: str, name: str, thing: type) -> list[str]:
    return [f"   * - :py:class:`~{package}.{name}`", f"     - {_opening(thing.__doc__)}"]


def _opening(doc: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((doc or "").strip().split("\n\n")[0].split())


def _directive(package: str, name: str, value: object) -> list[str]:
    if inspect.isclass(value):
        return [f".. autoclass:: {package}.{name}", "   :members:", "   :inherited-members: BaseEstimator, Enum, tuple"]
    if inspect.isroutine(value):
        return [f".. autofunction:: {package}.{name}"]
    return [f".. py:data:: {package}.{name}", f"   :type: {type(value).__name__}"]


def _write_explorer(target: Path) -> None:
    """The explorer of two small data sets, as the page that `explore` writes."""
    from hypermargin import HyperbolicSVC, explore
    from hypermargin.datasets import load_karate, make_gaussian_mixture

    target.mkdir(parents=True, exist_ok=True)
    if not (target / "explorer-karate.html").exists():
        karate = load_karate()
        club = karate.target_names[karate.y]
        model = HyperbolicSVC(C=1.0).fit(karate.X, club)
        explore(model, karate.X, club, path=9, title="Zachary's karate club").save(target / "explorer-karate.html")
    if not (target / "explorer-classes.html").exists():
        X, y = make_gaussian_mixture(150, 5, scale=0.7, random_state=2, return_X_y=True)
        model = HyperbolicSVC(C=10.0).fit(X[::2], y[::2])
        page = explore(model, X[::2], y[::2], X_test=X[1::2], y_test=y[1::2], title="Five Gaussian classes")
        page.save(target / "explorer-classes.html")


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
