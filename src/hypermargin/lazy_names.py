"""Names that a package offers but imports only when they are used, so that importing the package is quick (PEP 562).

They are listed once, as imports in the ``__init__.pyi`` of the package, which type checkers and editors read as well.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, and the names of the submodules in its stub.

    Parameters
    ----------
    package, file : str
        The `__name__` and `__file__` of the package.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {name.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(str(homes[name])), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    submodules = [name for name, home in homes.items() if home == package]
    return __getattr__, __dir__, sorted(set(homes) - set(submodules)), submodules
