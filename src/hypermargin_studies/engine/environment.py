"""The software and hardware of a run: versions, processor and commit. Nothing names the user or the machine."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hypermargin import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "clarabel", "joblib", "python-flint", "matplotlib")


def describe_environment() -> dict[str, str]:
    """Names and values, in the order a reader wants them."""
    described = {
        "hypermargin": __version__,
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "processor": _processor(),
    }
    for package in PACKAGES:
        try:
            described[package] = version(package)
        except PackageNotFoundError:
            continue
    return described


def check_device(device: str) -> None:
    """A `ValueError` that says what is wrong where PyTorch cannot work on `device`."""
    try:
        import torch
    except ImportError:
        raise ValueError("--device needs PyTorch: pip install 'hypermargin[gpu]'") from None
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"PyTorch cannot use the device {device!r} ({str(error).splitlines()[0]})") from None


def device_name(device: str | None) -> str | None:
    """What PyTorch calls an accelerator, such as "NVIDIA H200"; the given name where it has none."""
    if device is None:
        return None
    import torch

    return torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else device


def commit() -> str:
    """The commit of the checkout this package runs from, "+" where files differ from it; "unknown" elsewhere."""
    folder = Path(__file__).parents[2]  # of this package and the library
    try:
        number = _git(folder, "rev-parse", "--short=12", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return number + ("+" if changed else "")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ("git", "-C", str(folder), *arguments), capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
