"""Folders through Hadoop's file systems, so that staging works wherever the lake lies."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def _path(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    jvm = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(uri)
    return path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), path


def exists(spark: SparkSession, uri: str) -> bool:
    """Whether a file or folder is there."""
    system, path = _path(spark, uri)
    return bool(system.exists(path))


def children(spark: SparkSession, uri: str) -> list[str]:
    """Names of what lies in a folder; none if there is no such folder."""
    system, path = _path(spark, uri)
    if not system.exists(path):
        return []
    return sorted(status.getPath().getName() for status in system.listStatus(path))


def delete(spark: SparkSession, uri: str) -> None:
    """Remove a file or a folder with all in it; nothing happens where there is none."""
    system, path = _path(spark, uri)
    system.delete(path, True)
