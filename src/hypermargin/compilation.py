"""Which inner loops run as machine code.

Every module in a folder named ``compiled`` is a plain Python file that Cython compiles when the package is installed
(`setup.py` finds them by that name), and no module elsewhere is. Where there was no compiler the interpreter runs the
same files: slower, with the same answers.
"""

from functools import cache
from types import ModuleType


@cache
def is_compiled(*modules: ModuleType) -> bool:
    """Whether all of these modules run as machine code (True), or some are interpreted (False)."""
    return not any(str(module.__file__).endswith(".py") for module in modules)
