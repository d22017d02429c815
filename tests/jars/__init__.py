"""The jars of other engines, which `make jars` fetches; without them, their tests are skipped."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("ADNOMINAL_JARS", Path.home() / ".cache" / "adnominal" / "jars"))


def jars(*names: str) -> str:
    """The jars of sets of ``tests/jars/pom.xml``, as the property ``spark.jars`` takes them.

    The test, or the module that calls this when it is imported, is skipped if a set is missing.
    """
    paths: list[Path] = []
    for name in names:
        files = sorted((FOLDER / name).glob("*.jar"))
        if not files:
            pytest.skip(f"no jars in {FOLDER / name} (make jars)", allow_module_level=True)
        paths += files
    return ",".join(map(str, paths))
