"""The sources of compiled modules run by the interpreter, whatever is installed: they must give the same answers."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path


def load_source(*modules):
    """The same modules run from their source files, which may import one another in this order."""
    loaded = []
    try:
        for module in modules:
            name = module.__name__
            loader = SourceFileLoader(name, str(Path(module.__file__).parent / f"{name.rpartition('.')[2]}.py"))
            plain = module_from_spec(spec_from_loader(name, loader))
            sys.modules[name] = plain
            loader.exec_module(plain)
            loaded.append(plain)
    finally:
        sys.modules.update({module.__name__: module for module in modules})
    return loaded
