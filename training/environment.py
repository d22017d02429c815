"""What a run was executed with: environment, changes of the code, packages of a served model."""

import functools
import os
import platform
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distributions, version

from adnominal import conf
from adnominal.training import launch

_DIFF = 1_000_000
_SERVING_PACKAGES = ("torch", "transformers", "peft", "safetensors", "numpy")


def description() -> str:
    """List interpreter, system, devices and installed packages, one per line."""
    import torch

    lines = [f"python {platform.python_version()} ({sys.executable})", platform.platform()]
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        lines += [torch.cuda.get_device_name(at) for at in range(count)]
        lines.append(f"cuda {torch.version.cuda}")
    lines.append(f"processes {launch.world_size()}, cores {os.cpu_count()}")
    return "\n".join([*lines, "", *_packages()]) + "\n"


@functools.cache
def _packages() -> list[str]:
    # Cached, because this reads hundreds of files and a process may have many runs.
    packages = {f"{package.metadata['Name']}=={package.version}" for package in distributions()}
    return sorted(packages, key=str.lower)


def changes() -> str | None:
    """Return the uncommitted changes of this checkout as a patch; None outside a checkout."""
    try:
        diff = subprocess.run(
            ["git", "-C", os.fspath(conf.ROOT), "diff", "HEAD"],
            capture_output=True,
            timeout=30,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return diff[:_DIFF].decode(errors="replace")


def requirements() -> list[str]:
    """Return the packages of a served model with their versions, each once."""
    lines = []
    for name in _SERVING_PACKAGES:
        # The first on the path is the one that is imported.
        with suppress(PackageNotFoundError):
            release = version(name).split("+")[0]
            lines.append(f"{name}=={release}")
    return sorted(lines)
