import stat

import pytest

from adnominal.conf import UserError
from adnominal.etl.annotation.keys import fingerprint, hashed_annotator, read_key


def test_the_key_lies_outside_the_lake_and_hashes_annotators(tmp_path):
    lake = str(tmp_path / "lake")
    (tmp_path / "lake").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "lake")
    for folder in ("lake", "other/../lake", "link"):
        for root in (lake, f"file://{lake}", str(tmp_path / "link")):
            with pytest.raises(UserError, match="is in lake="):
                read_key(tmp_path / folder / "key", root, make=True)
    path = tmp_path / "lake" / ".." / "safe" / "key"
    with pytest.raises(UserError, match="the key file of the earlier imports"):
        read_key(path, lake, make=False)
    secret = read_key(path, lake, make=True)
    assert len(secret) == 64
    assert read_key(path, lake, make=True) == read_key(path, lake, make=False) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["key"]
    other = read_key(tmp_path / "other", lake, make=True)
    assert fingerprint(other) != fingerprint(secret)
    assert hashed_annotator(secret, "mturk", "W1") != hashed_annotator(other, "mturk", "W1")
    assert hashed_annotator(secret, "mturk", "W1") != hashed_annotator(secret, "csv", "W1")
    half_a_pair = "\ud800"  # as JSON may have it
    assert len(hashed_annotator(secret, "label_studio", half_a_pair)) == 24
    with pytest.raises(UserError, match=r"key=.*other/key: File exists; expected a file in a"):
        read_key(tmp_path / "other" / "key", lake, make=True)
    path.write_text("short")
    with pytest.raises(UserError, match="5 bytes; expected 16 or more"):
        read_key(path, lake, make=False)


def test_hashes_are_those_of_earlier_imports():
    """Lakes have annotators under these names, so the same people must keep theirs."""
    secret = b"0123456789abcdef"
    assert fingerprint(secret) == "153dcb6193b33ae4"
    assert hashed_annotator(secret, "mturk", "W1") == "aa60a0bd4369edee050d983b"
    assert (
        hashed_annotator(secret, "csv", "simulated-careful0")
        == "simulated-7c0e6fefe8fd325a0ff1c565"
    )
