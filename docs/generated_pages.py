"""What the site has besides its pages: the examples as a gallery, the reference of public names, a live explorer."""

import importlib
import inspect
import shutil
from pathlib import Path

#: The packages whose public names are documented, in the order of the flow. Each says in `__all__` what they are.
PACKAGES = (
    "hypermargin.geometry",
    "hypermargin.problems",
    "hypermargin.certificates",
    "hypermargin.solvers",
    "hypermargin.estimators",
    "hypermargin.datasets",
    "hypermargin.plotting",
    "hypermargin.explorer",
)
GALLERY = """Examples
========

Short programs, executed when this site was built. They are the files of the folder ``examples``.
"""


def make_all(docs: Path) -> None:
    """Write everything that is generated below `docs`."""
    _copy_examples(docs.parent / "examples", docs / "_build" / "examples")
    _write_reference(docs / "api")
    _write_explorer(docs / "_build" / "extra")


def _copy_examples(source: Path, target: Path) -> None:
    """The examples with headings, in a folder where they may leave their pictures."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "GALLERY_HEADER.rst").write_text(GALLERY, encoding="utf-8")
    for example in sorted(source.glob("*.py")):
        title = example.stem.replace("_", " ").capitalize()
        text = example.read_text(encoding="utf-8")
        heading = f'"""\n{title}\n{"=" * len(title)}\n\n'
        (target / example.name).write_text(text.replace('"""', heading, 1), encoding="utf-8")


def _write_reference(target: Path) -> None:
    """A page for each package, and one that lists them; unchanged pages are left alone, as Sphinx goes by their age."""
    target.mkdir(exist_ok=True)
    for package in PACKAGES:
        module = importlib.import_module(package)
        parts = [package, "=" * len(package), "", _opening(module.__doc__), ""]
        for name in sorted(module.__all__, key=str.lower):
            parts += [*_directive(package, name, getattr(module, name)), ""]
        _write(target / f"{package.rpartition('.')[2]}.rst", "\n".join(parts))
    names = [f"   {package.rpartition('.')[2]}" for package in PACKAGES]
    opening = "Everything public, package by package. The most used names can be imported from ``hypermargin`` itself:"
    top = ", ".join(f"``{name}``" for name in sorted(importlib.import_module("hypermargin").__all__, key=str.lower))
    contents = ["", ".. toctree::", "   :maxdepth: 1", "", *names, ""]
    _write(target / "index.rst", "\n".join(["Reference", "=========", "", opening, f"{top}.", *contents]))


def _opening(doc: str | None) -> str:
    """The first paragraph of a docstring."""
    return (doc or "").strip().split("\n\n")[0]


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
