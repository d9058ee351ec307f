"""Build the compiled modules. The rest of the project is described in pyproject.toml.

Each is a plain Python file that Cython can also compile. Where there is no C compiler the extension is left out
(`optional`) and the interpreter runs the same file: slower, with the same answers.
"""

import os

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = [
    "hypermargin.certificates.cells_kernel",
    "hypermargin.certificates.members_kernel",
    "hypermargin.certificates.sums_kernel",
    "hypermargin.solvers.exact.cuts",
    "hypermargin.solvers.exact.evaluator",
    "hypermargin.solvers.exact.master",
    "hypermargin.solvers.exact.region",
    "hypermargin.solvers.exact.robust_kernel",
    "hypermargin.solvers.exact.passes",
    "hypermargin.solvers.moment.cone_kernel",
    "hypermargin.solvers.moment.elimination_kernel",
    "hypermargin.solvers.moment.newton_kernel",
]

extensions = cythonize([Extension(name, [f"src/{name.replace('.', '/')}.py"]) for name in KERNELS], language_level=3)
for extension in extensions:  # set here, because cythonize makes extensions of its own
    extension.optional = True
    if os.name == "posix":
        # No fused multiply-add: the checker of certificates must come to the same decisions about a sample. Without
        # errno, which nobody reads, square roots vectorise.
        extension.extra_compile_args += ["-O3", "-ffp-contract=off", "-fno-math-errno"]

setup(ext_modules=extensions, options={"build_ext": {"parallel": os.cpu_count() or 1}})
