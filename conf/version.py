"""The version of this program: the commit of a checkout, or that of the installed package."""

import os
from contextlib import suppress
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parent.parent


def code_version() -> str:
    """The commit of this checkout (with ``+`` if it was changed), or the installed version."""
    if (_CHECKOUT / ".git").exists():
        import subprocess

        describe = ["describe", "--always", "--dirty=+", "--abbrev=12"]
        command = ["git", "-C", os.fspath(_CHECKOUT), *describe]
        with suppress(OSError, subprocess.SubprocessError):
            description = subprocess.run(
                command, capture_output=True, text=True, timeout=10, check=True
            )
            return description.stdout.strip()
    return package_version()


def package_version() -> str:
    """The installed version; ``unknown`` in a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("adnominal")
    except PackageNotFoundError:
        return "unknown"
