"""The reference: every public name is described, its parameters are named, and its examples run.

Examples are in docstrings or in docs/reference_examples.toml, from which the site adds them to the pages.
"""

import doctest
import importlib
import inspect
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import networkx
import numpy as np
import pytest

import hypermargin as hm

EXAMPLES = tomllib.loads((Path(__file__).parents[1] / "docs" / "reference_examples.toml").read_text(encoding="utf-8"))
#: Parts of proofs and of blocked data, which users meet as values and do not call; the rest needs an example.
WITHOUT = {"certificates", "passes"}


def public(package):
    module = importlib.import_module(f"hypermargin.{package}")
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", None) == module.__name__]
    names = getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")]
    things = {name: getattr(module, name) for name in names}
    return {name: thing for name, thing in things.items() if inspect.isclass(thing) or inspect.isroutine(thing)}


@pytest.mark.parametrize("package", hm.PACKAGES)
def test_every_public_name_has_a_summary(package):
    for name, thing in public(package).items():
        summary = (inspect.getdoc(thing) or "").split("\n\n")[0]
        assert summary, f"{package}.{name} has no docstring"
        assert summary[0].isupper() or summary[0] in "`|", f"{package}.{name}: {summary[:60]}"


@pytest.mark.parametrize("package", [name for name in hm.PACKAGES if name not in WITHOUT])
def test_every_name_that_a_user_calls_has_an_example(package):
    without = [
        name
        for name, thing in public(package).items()
        if name not in EXAMPLES.get(package, {})
        and ">>>" not in (inspect.getdoc(thing) or "")
        and not (inspect.isclass(thing) and issubclass(thing, Warning | Exception))
    ]
    assert not without, f"add an Examples section to the docstring, or to docs/reference_examples.toml: {without}"


def test_examples_are_of_public_names():
    for package, own in EXAMPLES.items():
        assert own.keys() <= public(package).keys()


@pytest.mark.parametrize("package", hm.PACKAGES)
def test_examples_print_what_they_show(package, tmp_path, monkeypatch):
    """Those of docstrings, methods included, and those that the site adds."""
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    names = {"np": np, "hm": hm, "networkx": networkx}
    finder, parser = doctest.DocTestFinder(), doctest.DocTestParser()
    tests = [t for name, thing in public(package).items() for t in finder.find(thing, name, globs=names)]
    own = EXAMPLES.get(package, {}).items()
    tests += [parser.get_doctest(text, dict(names), name, "reference_examples.toml", 0) for name, text in own]
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS, verbose=False)
    told = []
    for test in tests:
        runner.run(test, out=told.append)
    plt.close("all")
    assert runner.failures == 0, "".join(told)
