"""Errors about tables, by who has to act: the user or the operator of the storage."""

import errno
import os
import re

from adnominal import conf
from adnominal.conf import JobFailed, UserError


class LakeError(UserError):
    """The table does not exist, has another schema, or uses an unsupported feature."""


class UnsupportedFeature(LakeError):
    """The table uses a feature that only Delta's connector in the JVM reads."""


class LakeFailed(JobFailed):
    """The stored files are not as expected, or a commit failed."""


class LakeConflict(LakeFailed):
    """Another writer changed the same partition between our read and our commit."""


# Faults of disks, file servers and quotas: neither the command nor our code caused them.
_STORAGE = {
    errno.EIO,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.ENODEV,
    errno.ENXIO,
    errno.ESTALE,
    errno.ETIMEDOUT,
}
_ANSI = re.compile(r"\x1b\[\d*m|↳")  # colours and arrows in delta-rs's messages
# How delta-rs, obstore and the embedded engine begin an error of a store or its connection.
_STORE = re.compile(
    r"Generic (?!LocalFileSystem)\w+ error|an error occurred while loading credentials"
)


def storage_failure(error: BaseException) -> str | None:
    """Describe a storage fault in one line, whichever library met it; None for other errors."""
    text = _ANSI.sub("", str(error))
    if store := _STORE.search(text):
        return _store_failure(text[store.start() :])
    number = error.errno if isinstance(error, OSError) else None
    if number is None:
        # delta-rs and the engine have their own types and give the errno in the text: in its last
        # line, after the traceback, if a task raised the error.
        lines = re.findall(r".*\(os error \d+\).*", text)
        text = lines[-1] if lines else ""
        number = int(text.rpartition("(os error ")[2].partition(")")[0]) if lines else None
    if number not in _STORAGE:
        return None
    cause, reason = " ".join(text.split())[:300], os.strerror(number)
    return f"the storage failed ({reason}): {cause}; mend it and run the same command again"


def _store_failure(text: str) -> str:
    """The fault of an object store in one line: its request and what it answered."""
    answer = re.search(r"<Code>(.*?)</Code>\s*<Message>(.*?)</Message>", text, re.DOTALL)
    request = re.search(r"Error performing ([A-Z]+ [^\s?]+)", text)
    last = text.strip().splitlines()[-1].strip(" .")[:300]
    reason = ": ".join(answer.groups()) if answer else last
    return (
        f"the store failed ({request[1] if request else text.splitlines()[0]}): {reason}; check "
        "lake= and the store's variables (address, region, credentials; docs/lake.md), and run the "
        "same command again"
    )


conf.EXPLAINERS.append(storage_failure)
