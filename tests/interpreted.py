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


def put_in_place(monkeypatch, interpreted):
    """Put interpreted modules, and what they define, wherever the compiled ones are used; how many places that were.

    `interpreted` maps each compiled module to the same one run from source.
    """
    replacements = dict(interpreted)
    for compiled, plain in interpreted.items():
        for name, value in vars(compiled).items():
            if callable(value) and hasattr(plain, name) and value.__module__ == compiled.__name__:
                replacements[value] = getattr(plain, name)
    replaced = 0
    for name, module in list(sys.modules.items()):
        if name.startswith("hypermargin.") and module not in interpreted:
            for attribute, value in list(vars(module).items()):
                if callable(value) or any(value is compiled for compiled in interpreted):
                    other = replacements.get(value)
                    if other is not None:
                        monkeypatch.setattr(module, attribute, other)
                        replaced += 1
    return replaced
