"""Is the installed hypermargin whole? Every inner loop is machine code, data files are there, and the demo runs.

Run by cibuildwheel on every wheel, and by the tests, in an environment that has the package and no compiler.
"""

import sys
import tempfile
from importlib import import_module
from pathlib import Path

import hypermargin
from hypermargin.cli import main
from hypermargin.compilation import is_compiled

HOME = Path(hypermargin.__file__).parent
sources = sorted(path for path in HOME.rglob("compiled/*.py") if path.name != "__init__.py")
names = [".".join(path.relative_to(HOME.parent).with_suffix("").parts) for path in sources]
interpreted = [name for name in names if not is_compiled(import_module(name))]
if interpreted or not names:
    sys.exit(f"these modules of {HOME} are not compiled: {', '.join(interpreted) or 'none were found'}")
with tempfile.TemporaryDirectory() as folder:
    demo = ["demo", "--size", "24", "--output", folder]
    for arguments in (demo, ["fit", f"{folder}/tree.csv", "-o", f"{folder}/model.npz"], ["score", "--list"]):
        code = main(arguments)
        if code:
            sys.exit(f"hypermargin {' '.join(arguments)} ended with exit code {code}")
print(f"{len(names)} compiled modules, and the demo runs: {HOME}")
