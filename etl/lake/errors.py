"""What can go wrong with a table, by whose turn it is."""

from __future__ import annotations

from conf import JobFailed, UserError


class LakeError(UserError):
    """The request does not fit the table: missing, of another schema, or of an unread feature."""


class LakeFailed(JobFailed):
    """The files on storage are not what they must be, or a commit did not come about."""


class LakeConflict(LakeFailed):
    """Another writer changed the same partition between our reading it and our commit."""
