"""Annotators as keyed hashes (HMAC-SHA-256 of platform and id).

The same person is the same annotator in every batch of a platform, and nobody can find the person
without the key, not even by hashing every id of the platform. The key file must be outside the
lake, because whoever has both can tell who answered what. It must not be lost, because with another
key the same people would count as new ones.
"""

import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

from adnominal.conf import UserError
from adnominal.etl.lake.storage import local_path

# Prefix of the ids of simulated annotators (`etl.annotation.simulate`), in files and table.
SIMULATED = "simulated-"


def read_key(path: Path, lake: str, *, make: bool) -> bytes:
    """The secret with which annotators' ids are hashed; it is created if there is none and `make`.

    Raises:
        UserError: the file is in the lake, where every reader of the answers would find it, does
            not exist, cannot be created, or has less than 16 bytes and could be guessed.
    """
    root = local_path(lake)
    if root is not None and path.resolve().is_relative_to(root.resolve()):
        raise UserError(f"key={path} is in lake={lake}; expected a file outside of it")
    if make and not path.exists():
        try:
            _make_key(path)
        except OSError as error:
            raise UserError(
                f"key={path}: {error.strerror}; expected a file in a folder that is writable"
            ) from error
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"key={path}: {error.strerror}; expected the key file of the earlier imports, without "
            "which the same annotators would count as new ones"
        ) from error
    if len(secret) < 16:
        raise UserError(f"key={path}: {len(secret)} bytes; expected 16 or more")
    return secret


def _make_key(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent)  # readable only by its owner
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_hex(32).encode())
    try:
        os.link(name, path)  # fails if another process was first
    except FileExistsError:
        pass
    finally:
        os.unlink(name)


def fingerprint(secret: bytes) -> str:
    """A fingerprint that distinguishes keys without revealing them (table history)."""
    return hmac.new(secret, b"fingerprint", hashlib.sha256).hexdigest()[:16]


def hashed_annotator(secret: bytes, platform: str, annotator: str) -> str:
    """The stored name of an annotator: 24 hex digits, after `SIMULATED` if simulated."""
    text = f"{platform}:{annotator}".encode(errors="surrogatepass")
    digest = hmac.new(secret, text, hashlib.sha256).hexdigest()[:24]
    return SIMULATED + digest if annotator.startswith(SIMULATED) else digest
