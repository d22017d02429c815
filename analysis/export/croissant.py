"""Croissant metadata (MLCommons, version 1.0) of an export's Parquet files: ``croissant.json``."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from adnominal.analysis.export.content import Content, File
from adnominal.analysis.export.provenance import About, Origin

_TYPES = {
    pa.string(): "sc:Text",
    pa.int32(): "sc:Integer",
    pa.int64(): "sc:Integer",
    pa.float64(): "sc:Float",
    pa.bool_(): "sc:Boolean",
}
_TERMS = """
    citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes
    isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace
    samplingRate separator source subField transform
"""
# The vocabulary fixed by the specification, in alphabetical order.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{name: f"cr:{name}" for name in _TERMS.split()},
}


def write(
    out: Path,
    exported: Content,
    files: Sequence[File],
    about: About,
    provenance: Sequence[Origin],
) -> None:
    """Write croissant.json next to ``data``."""
    text = json.dumps(metadata(exported, files, about, provenance), ensure_ascii=False, indent=1)
    (out / "croissant.json").write_text(text + "\n", encoding="utf-8")


def metadata(
    exported: Content, files: Sequence[File], about: About, provenance: Sequence[Origin]
) -> dict[str, Any]:
    """The metadata: a file object and a record set for each Parquet file."""
    versions = ", ".join(f"{o.table} version {o.version} ({o.job})" for o in provenance)
    return {
        "@context": dict(sorted(_CONTEXT.items())),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"{exported.dataset}_{exported.edition}",
        "description": f"{about.summary} Made of: {' '.join(about.made_of)} From {versions}.",
        "license": about.licence_url or about.licence,
        "citeAs": about.citation,
        # The newest version of any of its tables, which increases with every build.
        "version": f"{max(o.version or 0 for o in provenance)}.0.0",
        "datePublished": max(o.written for o in provenance).isoformat(),
        "distribution": [_file(file) for file in files],
        "recordSet": [_records(file, exported) for file in files],
    }


def _name(file: File) -> str:
    return f"{file.config}_{file.part}"


def _file(file: File) -> dict[str, Any]:
    """The description of a file."""
    return {
        "@type": "cr:FileObject",
        "@id": f"{_name(file)}.parquet",
        "name": f"{_name(file)}.parquet",
        "description": f"{file.rows:,} rows of {file.config}, {file.part}",
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _records(file: File, exported: Content) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": _name(file),
        "name": _name(file),
        "description": f"{file.config}, {file.part}",
        "field": [_field(file, column, exported) for column in file.schema],
    }


def _field(file: File, column: pa.Field, exported: Content) -> dict[str, Any]:
    """The description of a column, with its meaning and the names of its classes."""
    is_list = pa.types.is_list(column.type)
    meaning = (column.metadata or {}).get(b"comment", b"").decode()
    names = exported.classes.get(column.name)
    if names:
        meaning += ": " + ", ".join(f"{i} {name}" for i, name in enumerate(names))
    return {
        "@type": "cr:Field",
        "@id": f"{_name(file)}/{column.name}",
        "name": column.name,
        "description": meaning,
        "dataType": _TYPES[column.type.value_type if is_list else column.type],
        **({"repeated": True} if is_list else {}),
        "source": {
            "fileObject": {"@id": f"{_name(file)}.parquet"},
            "extract": {"column": column.name},
        },
    }
