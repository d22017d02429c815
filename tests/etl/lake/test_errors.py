"""Faults of the storage are reported in one line, whichever library raises them."""

import errno
import os

import pytest

from adnominal.etl.lake.errors import storage_failure

FULL = "the storage failed (No space left on device): {}; mend it and run the same command again"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a"),
            "[Errno 28] No space left on device: 'a'",
        ),
        (RuntimeError("Object store:\nwriting a (os error 28)"), "writing a (os error 28)"),
        (
            RuntimeError(
                "a task failed. Traceback (most recent call last):\n"
                '  File "task.py", line 1, in <module>\n'
                "OSError: a: full (os error 28)\n"
            ),
            "OSError: a: full (os error 28)",
        ),
    ],
)
def test_the_line_with_the_system_error_is_reported(error, line):
    assert storage_failure(error) == FULL.format(line)


STORE = (
    "the store failed ({}): {}; check lake= and the store's variables (address, region, "
    "credentials; docs/lake.md), and run the same command again"
)
ARROW = "\x1b[31m↳\x1b[0m"  # delta-rs shows causes in red


@pytest.mark.parametrize(
    ("text", "request_and_reason"),
    [
        (
            f"Kernel error -> Generic S3 error\n {ARROW} Error performing list request\n"
            f"  {ARROW} Error performing GET http://host:1/b?list-type=2&prefix=a in 3ms - Server "
            f"returned non-2xx status code\n  {ARROW} 404 Not Found\n  {ARROW} <?xml?>\n<Error>"
            "<Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message>"
            "<BucketName>b</BucketName></Error>\n",
            ("GET http://host:1/b", "NoSuchBucket: The specified bucket does not exist"),
        ),
        (
            f"Generic S3 error\n {ARROW} Error performing GET http://host:1/b/lk/_last_checkpoint "
            f"in 10s, after 10 retries, max_retries\n {ARROW} 10, retry_timeout\n  {ARROW} 180s  - "
            f"HTTP error\n   {ARROW} tcp connect error\n    {ARROW} Connection refused "
            "(os error 111)\n",
            ("GET http://host:1/b/lk/_last_checkpoint", "Connection refused (os error 111)"),
        ),
        (
            f"Generic HdfsObjectStore error\n {ARROW} IO error occurred while communicating\n",
            ("Generic HdfsObjectStore error", "IO error occurred while communicating"),
        ),
        (
            f"Operation not supported\n {ARROW} an error occurred while loading credentials\n"
            f"  {ARROW} request forbidden\n   {ARROW} IMDS is disabled.\n\n",
            ("an error occurred while loading credentials", "IMDS is disabled"),
        ),
    ],
)
def test_a_failed_store_is_reported_with_the_request_and_its_answer(text, request_and_reason):
    assert storage_failure(OSError(text)) == STORE.format(*request_and_reason)


@pytest.mark.parametrize("error", [ValueError("rows"), OSError(errno.ENOENT, "no file", "a")])
def test_other_errors_are_not_reported_as_faults_of_the_storage(error):
    assert storage_failure(error) is None
