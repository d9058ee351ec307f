"""Which modules run as machine code.

Every module in a folder named ``compiled`` is a plain Python file that Cython compiles when the package is installed
(`setup.py` finds them by that name), and no module elsewhere is. Without a C compiler the interpreter runs the same
files: slower, with the same results.
"""

from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType


@cache
def is_compiled(*modules: ModuleType) -> bool:
    """Whether all of these modules run as machine code (True), or some are interpreted (False)."""
    return not any(str(module.__file__).endswith(".py") for module in modules)


def how_compiled() -> str:
    """Whether the modules in folders ``compiled`` are compiled, in a few words; imports none of them."""
    modules = [path for path in Path(__file__).parent.rglob("compiled/*.py") if path.name != "__init__.py"]
    missing = [path for path in modules if not any(path.with_suffix(end).is_file() for end in EXTENSION_SUFFIXES)]
    if not missing:
        return "compiled"
    if len(missing) == len(modules):
        return "interpreted (no C compiler was there at installation), and slow"
    return f"compiled but for {len(missing)} of {len(modules)} modules, such as {missing[0].stem}, and slow"
