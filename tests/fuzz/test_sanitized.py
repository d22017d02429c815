"""The sanitizers run both C extensions on some mutated input, and find a planted fault."""

import shutil
import subprocess
from pathlib import Path

import pytest

from adnominal.conf import JobFailed
from adnominal.etl.amod import kernel
from tests.fuzz import sanitized
from tests.fuzz.sanitized import Settings, main


def has_sanitizers() -> bool:
    """Whether the compiler has the address sanitizer's library; else it prints only its name."""
    return shutil.which("cc") is not None and Path(sanitized.library()).is_absolute()


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_sanitizers(), reason="no compiler with libasan"),
]


@pytest.mark.parametrize("extension", ["kernel", "fast"])
def test_mutated_input_shows_no_fault(extension, capsys):
    main(Settings(extension=extension, inputs=400))
    assert "400 mutated inputs, no fault" in capsys.readouterr().out


def test_a_write_beyond_a_buffer_is_found(tmp_path, monkeypatch):
    source = tmp_path / "_kernel.c"
    text = sanitized.SOURCES["kernel"].read_text(encoding="utf-8")
    header, feed, rest = text.partition("PyInit__kernel(void)")
    assert feed
    planted = rest.replace("{", "{ volatile char *p = malloc(8); p[8] = 1; free((void *)p);", 1)
    source.write_text(header + feed + planted, encoding="utf-8")
    monkeypatch.setitem(sanitized.SOURCES, "kernel", source)
    with pytest.raises(JobFailed, match=r"_kernel\.c failed on mutated input"):
        main(Settings(inputs=80))


def test_pairs_that_differ_from_the_references_are_found(monkeypatch):
    # The check puts its module in the place of the compiled kernel.
    monkeypatch.setattr(kernel, "compiled_kernel", kernel.compiled_kernel)

    def counts_of(implementation: str, *_: object) -> str:
        return implementation

    monkeypatch.setattr(sanitized, "counts_of", counts_of)
    with pytest.raises(JobFailed, match="count differently"):
        sanitized.check_kernel(subprocess, Settings(inputs=80))
