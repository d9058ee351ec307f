"""Build the compiled kernel. The rest of the project is described in pyproject.toml.

The kernel is a plain Python file that Cython can also compile. Where there is no C compiler the extension is left out
(`optional=True`) and the interpreter runs the same file: slower, with the same answers.
"""

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = ["hypermargin.solvers.exact.kernel", "hypermargin.solvers.exact.robust_kernel"]


def extension(module: str) -> Extension:
    path = "src/" + module.replace(".", "/") + ".py"
    return Extension(module, [path], optional=True, extra_compile_args=["-O3", "-ffp-contract=off"])


setup(ext_modules=cythonize([extension(m) for m in KERNELS], language_level=3))
