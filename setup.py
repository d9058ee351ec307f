"""Build the compiled modules: those in folders named ``compiled``. The rest of the project is in pyproject.toml.

Each is a plain Python file that Cython can also compile. Where there is no C compiler the extension is left out
(`optional`) and the interpreter runs the same file: slower, with the same answers.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

SOURCES = sorted(path for path in Path("src").glob("hypermargin/**/compiled/*.py") if path.name != "__init__.py")

# What Cython adds to every module, memory views for the greater part, is compiled once, in a module of its own: that
# takes less than half the compiler's time and a tenth of the installed size.
SHARED = "hypermargin._shared"

extensions = cythonize(
    [Extension(SHARED, ["src/hypermargin/_shared.c"])]
    + [Extension(".".join(path.with_suffix("").parts[1:]), [str(path)]) for path in SOURCES],
    language_level=3,
    shared_utility_qualified_name=SHARED,
    nthreads=os.cpu_count() or 1,
)
for extension in extensions:  # set here, because cythonize makes extensions of its own
    extension.optional = True
    if os.name == "posix":
        # No debugger's tables: they are most of a module's size. No fused multiply-add: the checker of certificates
        # must come to the same decisions about a sample. Without errno, which nobody reads, square roots vectorise.
        extension.extra_compile_args += ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno"]
    elif os.name == "nt":
        extension.extra_compile_args += ["/O2", "/fp:precise"]  # which does not contract unless it is asked to

setup(ext_modules=extensions, options={"build_ext": {"parallel": os.cpu_count() or 1}})
