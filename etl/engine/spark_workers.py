"""The daemon that forks Spark's Python workers if Spark is the installed package.

Spark puts its own archives first on the workers' path even though the package is installed. Modules
from archives are compiled again at each start, and each task reads the archives' directories again,
which takes 0.1 to 0.2 seconds per task.
"""

import sys
from importlib.machinery import PathFinder
from pathlib import Path


def leave_out_archives() -> None:
    """Remove the archives of the installed pyspark, and no others, from this process's path."""
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
