"""Environment variables that give uv the indexes and certificates of pip's configuration.

Prints lines for a shell to evaluate: uv does not read pip's configuration.
"""

import ast
import os
import shlex
import subprocess
import sys

NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def exports(listing: str) -> dict[str, str]:
    """uv's variables from the lines of ``pip config list``; pip's environment takes precedence.

    Indexes in folders that do not exist are dropped: pip ignores them, uv does not.
    """
    values: dict[str, str] = {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        scope, _, name = key.rpartition(".")
        if name in NAMES and (scope == ":env:" or NAMES[name] not in values):
            words = str(ast.literal_eval(value)).split()
            paths = [word.removeprefix("file://") for word in words]
            existing = [
                word
                for word, path in zip(words, paths, strict=True)
                if not path.startswith("/") or os.path.exists(path)
            ]
            if existing:
                values[NAMES[name]] = " ".join(existing)
    if "UV_INDEX" in values:
        # pip takes the best version of all its indexes; by default uv stops at the first index.
        values["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return values


if __name__ == "__main__":
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name, value in exports(listing).items():
        print(f"export {name}={shlex.quote(value)}")
