"""What Spark's Python workers are forked from where Spark is the installed package.

Spark puts archives of its own before everything else that workers import from, though the package
that they hold is there. From them modules are compiled anew at each start, and each task has their
directories read anew, a tenth of a second or two of its time, whatever it is to do.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path


def leave_out_archives() -> None:
    """Take the archives of the installed pyspark, and no others, off this process's path."""
    archives = {path for path in sys.path if path.endswith((".zip", ".jar"))}
    other_paths = [path for path in sys.path if path not in archives]
    spark, py4j = (PathFinder.find_spec(name, other_paths) for name in ("pyspark", "py4j"))
    if spark is None or spark.origin is None or py4j is None:
        return
    home = Path(spark.origin).resolve().parent
    for path in archives:
        if Path(path).resolve().is_relative_to(home):
            sys.path.remove(path)
            sys.path_importer_cache.pop(path, None)


if __name__ == "__main__":
    leave_out_archives()
    from pyspark import daemon

    daemon.manager()
