"""Importing the package is quick because heavy libraries wait until they are used; every public name is still there."""

import ast
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import hypermargin
from hypermargin import solvers

HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "clarabel", "joblib", "rich", "flint", "networkx", "pooch")


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after running `code`, besides those it starts with."""
    show = "print('\\n', *sys.modules, sep='\\n')"
    program = f"import sys\n{code}\n{show}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


@pytest.mark.parametrize(
    "code",
    [
        "import hypermargin",
        "import hypermargin; hypermargin.__version__, dir(hypermargin)",
        "from hypermargin.cli import main; main(['--version'])",
        "from hypermargin.cli import main; main(['--help'])",
    ],
)
def test_heavy_libraries_wait_until_they_are_used(code):
    loaded = modules_after(code)
    assert "hypermargin" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert not any(name.startswith(("hypermargin.solvers", "hypermargin.estimators")) for name in loaded)


def test_the_names_of_methods_are_known_without_their_solvers():
    loaded = modules_after("import hypermargin; assert 'moment' in hypermargin.available_methods()")
    assert "hypermargin.solvers.base" in loaded
    assert loaded.isdisjoint(module for module, _ in solvers.METHODS.values())
    assert "clarabel" not in loaded


@pytest.mark.parametrize("package", [hypermargin, solvers], ids=lambda package: package.__name__)
def test_lazy_names_are_those_that_type_checkers_see(package):
    tree = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [(node.module, alias) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    for module, alias in imports:
        assert alias.asname == alias.name, "only so a stub exports it"
        value = getattr(package, alias.name)
        assert value is (sys.modules.get(f"{module}.{alias.name}") or getattr(sys.modules[module], alias.name))
    names = {alias.name for module, alias in imports if module != package.__name__}
    assert package.__all__ == sorted(names)
    assert names <= set(dir(package))


def test_packages_are_reached_through_the_first_import():
    code = "import hypermargin as h; assert h.geometry.distance and h.datasets.make_tree and h.plotting.PoincareDisplay"
    assert "matplotlib" in modules_after(code)


def test_names_that_are_not_there_are_attribute_errors():
    with pytest.raises(AttributeError, match="'hypermargin' has no attribute 'HyperbolicSVM'"):
        hypermargin.HyperbolicSVM  # noqa: B018
    with pytest.raises(ImportError):
        exec("from hypermargin import no_such_name")


@pytest.mark.parametrize("name", hypermargin.__all__)
def test_public_names_pickle_as_themselves(name):
    value = getattr(hypermargin, name)
    assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.parametrize("method", solvers.METHODS)
def test_methods_are_announced_under_the_names_they_register(method):
    assert solvers.get_solver(method).name == method
