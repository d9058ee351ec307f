"""Data flows one way through the package, modules stay small, and the checker of certificates knows no solver."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import hypermargin
import hypermargin_studies
from reference.instances import make_instance

SOURCE = Path(hypermargin.__file__).parent
STUDIES = Path(hypermargin_studies.__file__).parent


def modules_of(folder: Path) -> dict[str, Path]:
    """The file of every module of a package."""
    return {
        ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(folder.rglob("*.py"))
    }


LIBRARY = modules_of(SOURCE)
MODULES = {**LIBRARY, **modules_of(STUDIES)}

#: What each part of the package may import besides itself, in the order of the flow.
MATHEMATICS = {"arrays", "precision", "arithmetic", "geometry", "kernels", "problems"}
FITTING = {
    *MATHEMATICS,
    "progress",
    "compilation",
    "safe_io",
    "passes",
    "data",
    "certificates",
    "solvers",
    "estimators",
}
ARROWS: dict[str, set[str]] = {
    "arrays": set(),
    "precision": set(),
    "arithmetic": {"arrays", "precision"},
    "compilation": set(),
    "lazy_names": set(),
    "progress": set(),
    "safe_io": set(),
    "geometry": {"arrays", "arithmetic", "compilation", "lazy_names"},
    "kernels": {"arrays", "arithmetic", "lazy_names", "geometry"},
    "problems": {"arrays", "arithmetic", "compilation", "geometry", "kernels"},
    "data": MATHEMATICS,
    "passes": {"data"},
    "certificates": {*MATHEMATICS, "compilation", "safe_io", "data"},
    "solvers": {*MATHEMATICS, "compilation", "lazy_names", "progress", "safe_io", "data", "certificates"},
    "torch_head": {"arrays", "geometry"},
    "estimators": {*FITTING, "torch_head"} - {"estimators"},
    "embedding": {"arrays", "progress", "geometry"},
    "datasets": {"arrays", "geometry", "embedding"},
    "plotting": FITTING,
    "explorer": {*FITTING, "plotting"},
    "check": {"certificates", "precision"},
    "anndata": {*FITTING, "plotting"},
    "graphs": {*FITTING, "embedding", "plotting", "explorer"},
    "cli": {*FITTING, "datasets", "embedding", "plotting", "explorer", "graphs"},
}
#: The same for the studies: parts of their own package; they may use all of the library but its commands.
STUDY_ARROWS: dict[str, set[str]] = {
    "engine": set(),
    "datasets": set(),
    "reproduction": {"engine", "datasets"},
    "problem_set": {"engine", "datasets"},
    "robustness": {"engine", "datasets"},
    "accuracy": {"engine", "datasets"},
    "commands": {"engine", "reproduction", "problem_set", "robustness", "accuracy"},
}
#: What commands everywhere share.
OF_COMMANDS = {"hypermargin.cli.console", "hypermargin.cli.options"}
#: The version is a fact about the package, which these parts print.
TELL_THE_VERSION = {"certificates", "cli"}

MOST_LINES = 700


@cache
def imports_of(module: str) -> frozenset[str]:
    """Modules of hypermargin and of its studies that a module imports anywhere in its code, functions included.

    ``from package import module`` is an import of the module; of the package only where it takes something else.
    """
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".") if MODULES[module].name == "__init__.py" else module.split(".")[:-1]
                base = ".".join(parts[: len(parts) - node.level + 1] + ([node.module] if node.module else []))
            for name in (f"{base}.{alias.name}" for alias in node.names):
                found.add(name if name in MODULES else base)
    return frozenset(name for name in found if name in MODULES)


def circle_in(imports: Mapping[str, Iterable[str]], package: str) -> list[str] | None:
    """Parts of a package (modules, and folders as a whole) that import each other in a circle; None if there is none.

    `imports` has all modules of the package, at any depth. The package's own ``__init__`` is a part of it as well.
    """

    def part(module: str) -> str | None:
        if module == package:
            return "__init__"
        return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else None

    arrows: dict[str, set[str]] = {}
    for module, others in imports.items():
        own = part(module)
        if own is not None:
            arrows.setdefault(own, set()).update({other for other in map(part, others) if other not in (None, own)})
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else module


def reachable_from(module: str) -> set[str]:
    """Everything of hypermargin that is executed to import a module, save `hypermargin/__init__` itself."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in seen and name != "hypermargin":
            seen.add(name)
            parents = [name.rsplit(".", k)[0] for k in range(1, name.count("."))]
            waiting.extend([*imports_of(name), *parents])
    return seen


@pytest.mark.parametrize("module", [name for name in LIBRARY if name not in ("hypermargin", "hypermargin.__main__")])
def test_imports_follow_the_arrows(module):
    own = part_of(module)
    studies = {name for name in imports_of(module) if name not in LIBRARY}
    assert not studies, "the library knows no study"
    against = {name for name in imports_of(module) if part_of(name) not in ARROWS[own] | {own}}
    allowed = {"hypermargin"} if own in TELL_THE_VERSION else set()
    assert against <= allowed, f"{module} imports against the arrows: {sorted(against - allowed)}"


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("hypermargin_studies.")])
def test_imports_of_studies_follow_their_arrows(module):
    own = part_of(module)
    allowed = STUDY_ARROWS[own] | {own}
    for name in imports_of(module):
        if name in LIBRARY:
            assert part_of(name) != "cli" or (own == "commands" and name in OF_COMMANDS), name
        else:
            assert part_of(name) in allowed, name


@pytest.mark.parametrize(("package", "arrows"), [("hypermargin", ARROWS), ("hypermargin_studies", STUDY_ARROWS)])
def test_every_part_of_the_package_has_its_arrows(package, arrows):
    parts = {part_of(module) for module in MODULES if module.split(".")[0] == package} - {package, "__main__"}
    assert parts == set(arrows)
    for part, may in arrows.items():  # no circle: what a part may import may not import it
        assert part not in may
        assert all(part not in arrows[other] for other in may)


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("hypermargin.certificates")])
def test_the_checker_reaches_no_solver(module):
    assert {part_of(name) for name in reachable_from(module)} <= {
        *MATHEMATICS,
        "data",
        "certificates",
        "compilation",
        "lazy_names",
        "safe_io",
    }


def test_the_reference_checker_needs_python_flint_and_nothing_of_ours():
    """So that it can be read, copied and believed by itself: `check.copy_to` takes these files and no others."""
    own = {f"hypermargin.{name}" for name in ("check", "precision", "certificates.reference")}
    own |= {name for name in MODULES if name.startswith("hypermargin.certificates.reference.")}
    assert len(own) > 5
    for name in own:
        for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= sys.stdlib_module_names, name
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module.split(".")[0] in {*sys.stdlib_module_names, "flint"}, name
            elif isinstance(node, ast.ImportFrom):  # relative, as the package has another name in the copy
                package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
                above = package.split(".")[: len(package.split(".")) + 1 - node.level]
                assert ".".join([*above, *filter(None, [node.module])]) in {*own, "hypermargin"}, name


def test_the_search_for_imports_sees_them():
    # The test above would pass if nothing were found at all.
    assert "hypermargin.certificates.core.sums" in reachable_from("hypermargin.certificates.core.soft_margin")
    assert "hypermargin" in imports_of("hypermargin.certificates.core.statement")  # in a function
    assert "hypermargin.solvers.base" in reachable_from("hypermargin.estimators.svc")


#: The most lines, docstrings included, that have to be trusted besides the sums that are plugged into the core.
MOST_TRUSTED = 1650
#: Imports every module of the core, its packages being empty, and reads the certificate of a file with it.
ALONE = """
import sys, types
from pathlib import Path
source = Path(sys.argv[1])
for name in ("hypermargin", "hypermargin.certificates"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(source.joinpath(*name.split(".")[1:]))]
from importlib import import_module
for path in sorted((source / "certificates" / "core").rglob("*.py")):
    parts = path.relative_to(source).with_suffix("").parts
    import_module(".".join(("hypermargin", *parts)).removesuffix(".__init__"))
print(import_module("hypermargin.certificates.core.certificate").Certificate.load(sys.argv[2]).statement.bound.hex())
print(*sorted(name for name in sys.modules if name.startswith("hypermargin")))
"""


def test_the_core_of_the_checker_is_small_and_imports_nothing_else(tmp_path):
    """Everything that it executes is counted, save NumPy, python-flint and the standard library."""
    instance = make_instance("overlap", d=2, n=30, C=1.0, seed=1)
    solution = hypermargin.solve(hypermargin.MarginProblem(instance.X, instance.y))
    solution.certificate.save(tmp_path / "proof.json")
    command = [sys.executable, "-c", ALONE, str(SOURCE), str(tmp_path / "proof.json")]
    bound, modules = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert float.fromhex(bound) == solution.lower_bound
    closure = [name for name in modules.split() if name in MODULES and name not in NOT_EXECUTED]
    lines = {name: len(MODULES[name].read_text(encoding="utf-8").splitlines()) for name in closure}
    print("\n".join(f"{count:5d}  {name}" for name, count in lines.items()))
    print(f"{sum(lines.values()):5d}  in all")
    assert {name for name in MODULES if name.startswith("hypermargin.certificates.core")} <= set(closure)
    assert sum(lines.values()) <= MOST_TRUSTED


#: Packages that the test above replaces by empty ones.
NOT_EXECUTED = {"hypermargin", "hypermargin.certificates"}


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_short(module):
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= MOST_LINES


PACKAGES = [name for name, path in MODULES.items() if path.name == "__init__.py"]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_has_a_circle_of_folders_or_modules(package):
    # The version is read from `hypermargin` itself, which imports all its parts.
    imports = {module: imports_of(module) - {"hypermargin"} for module in MODULES}
    circle = circle_in(imports, package)
    assert circle is None, f"{package} imports in a circle: {' -> '.join(circle)}"


def test_circles_are_found():
    """Between modules, between folders although no two modules import each other, and through an ``__init__``."""
    line = {"p": {"p.a"}, "p.a": {"p.b.x"}, "p.b": set(), "p.b.x": {"p.c"}, "p.b.y": set(), "p.c": set()}
    assert circle_in(line, "p") is None
    assert set(circle_in({**line, "p.c": {"p.a"}}, "p")) == {"a", "b", "c"}
    assert set(circle_in({**line, "p.c": {"p.b.y"}}, "p")) == {"b", "c"}
    assert set(circle_in({**line, "p.c": {"p"}}, "p")) >= {"__init__", "c"}
    inside = {**line, "p.b.x": {"p.b.y"}, "p.b.y": {"p.b.x"}}
    assert circle_in(inside, "p") is None
    assert set(circle_in(inside, "p.b")) == {"x", "y"}


def test_compiled_modules_live_in_folders_of_that_name_and_nothing_else_does():
    for module, path in MODULES.items():
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        in_folder = path.parent.name == "compiled" and path.name != "__init__.py"
        assert ("cython" in imported) == in_folder, module
    built = [path for kind in ("*.so", "*.pyd", "*.pxd") for path in SOURCE.rglob(kind)]
    assert built
    shared = [path for path in built if path.parent == SOURCE]  # Cython's helpers, which setup.py compiles once
    assert all(path.name.startswith("_shared.") for path in shared), "left over from an older layout: delete it"
    assert all(path.parent.name == "compiled" for path in set(built) - set(shared)), "an older layout: delete it"


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("compiled/*.c")), ids=lambda path: path.stem)
def test_loops_of_compiled_modules_have_numbers_of_c(path):
    """Where Cython infers no C type for a local variable it takes Python objects, and loops are ten times slower.

    Entries of arrays are then made objects. A few single ones are returned or appended to lists.
    """
    assert path.read_text(encoding="utf-8").count("PyFloat_FromDouble((*((double") <= 4
