"""Data flows one way through the package, modules stay small, and the checker of certificates knows no solver."""

import ast
from functools import cache
from pathlib import Path

import pytest

import hypermargin

SOURCE = Path(hypermargin.__file__).parent
MODULES = {
    ".".join(("hypermargin", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}

#: What each part of the package may import besides itself, in the order of the flow.
MATHEMATICS = {"arrays", "geometry", "problems"}
FITTING = {*MATHEMATICS, "compilation", "certificates", "solvers", "estimators"}
STUDY = {*FITTING, "datasets", "plotting", "workers"}
ARROWS: dict[str, set[str]] = {
    "arrays": set(),
    "compilation": set(),
    "geometry": {"arrays"},
    "problems": {"arrays", "geometry"},
    "certificates": {*MATHEMATICS, "compilation"},
    "solvers": {*MATHEMATICS, "compilation", "certificates"},
    "estimators": FITTING - {"estimators"},
    "datasets": {"arrays", "geometry"},
    "plotting": FITTING,
    "workers": set(),
    "reproduction": STUDY,
    "problem_set": STUDY,
    "robustness": STUDY,
    "cli": {*STUDY, "reproduction", "problem_set", "robustness"},
}
#: The version is a fact about the package, which these parts print.
TELL_THE_VERSION = {"workers", "reproduction", "problem_set", "cli"}

MOST_LINES = 450


@cache
def imports_of(module: str) -> frozenset[str]:
    """Modules of hypermargin that a module imports anywhere in its code, functions included."""
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
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return frozenset(name for name in found if name in MODULES)


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "hypermargin"


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


@pytest.mark.parametrize("module", [name for name in MODULES if name not in ("hypermargin", "hypermargin.__main__")])
def test_imports_follow_the_arrows(module):
    own = part_of(module)
    against = {name for name in imports_of(module) if part_of(name) not in ARROWS[own] | {own}}
    allowed = {"hypermargin"} if own in TELL_THE_VERSION else set()
    assert against <= allowed, f"{module} imports against the arrows: {sorted(against - allowed)}"


def test_every_part_of_the_package_has_its_arrows():
    parts = {part_of(module) for module in MODULES} - {"hypermargin", "__main__"}
    assert parts == set(ARROWS)
    for part, may in ARROWS.items():  # no circle: what a part may import may not import it
        assert part not in may
        assert all(part not in ARROWS[other] for other in may)


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("hypermargin.certificates")])
def test_the_checker_reaches_no_solver(module):
    assert {part_of(name) for name in reachable_from(module)} <= {*MATHEMATICS, "certificates", "compilation"}


def test_the_search_for_imports_sees_them():
    # The test above would pass if nothing were found at all.
    assert "hypermargin.certificates.sums" in reachable_from("hypermargin.certificates.verify")
    assert "hypermargin.certificates.verify" in imports_of("hypermargin.certificates.soft_margin")  # in a function
    assert "hypermargin.solvers.base" in reachable_from("hypermargin.estimators.svc")


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_short(module):
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= MOST_LINES
