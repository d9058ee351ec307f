"""The wheel: built from the source distribution, installed where there is no compiler, and used."""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "setup.py", "-q", "egg_info", "-e", folder, "sdist", "-d", folder, cwd=ROOT)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder / "source", filter="data")
    (unpacked,) = (folder / "source").iterdir()
    options = ("--no-deps", "--no-build-isolation", "--no-index", "-q", "-w", folder)
    run(sys.executable, "-m", "pip", "wheel", *options, unpacked)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_what_is_in_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    compiled = [path for path in (ROOT / "src").rglob("compiled/*.py") if path.name != "__init__.py"]
    libraries = {name.split("/")[-1].split(".")[0] for name in names if name.endswith((".so", ".pyd"))}
    assert libraries == {path.stem for path in compiled}
    assert not any(name.endswith(".c") for name in names)
    tracked = run("git", "ls-files", "src", cwd=ROOT).split()
    assert {path.removeprefix("src/") for path in tracked} <= set(names)


@pytest.mark.slow
def test_the_demo_runs_in_a_clean_environment_without_a_compiler(wheel, tmp_path):
    venv.create(tmp_path / "clean", with_pip=False)
    scripts = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / Path(sys.executable).name
    (site,) = (Path(line) for line in run(python, "-c", "import site; print(site.getsitepackages()[0])").split())
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q", wheel)
    # The dependencies are those at hand, behind the wheel; of this checkout nothing is on the path.
    (site / "dependencies.pth").write_text(str(Path(np.__file__).parents[1]))
    environment = {"PATH": str(scripts), "HOME": str(tmp_path), "CC": "no-compiler", "MPLBACKEND": "Agg"}
    out = run(python, ROOT / ".ci" / "check_wheel.py", cwd=tmp_path, env=environment)
    assert str(site) in out.splitlines()[-1]


def test_every_wheel_of_a_release_is_checked():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    assert "check_wheel.py" in settings["test-command"]
    assert (ROOT / ".ci" / "check_wheel.py").is_file()
    workflow = (ROOT / ".github" / "workflows" / "wheels.yml").read_text(encoding="utf-8")
    for machine in ("ubuntu-latest", "macos-15", "windows-latest"):
        assert machine in workflow
