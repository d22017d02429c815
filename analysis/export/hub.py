"""Upload of an export to the Hugging Face hub, by ``huggingface_hub`` and its stored token."""

import logging
import re
from pathlib import Path

from adnominal.conf import JobFailed, UserError
from adnominal.conf.texts import first_line

log = logging.getLogger("adnominal")

_NAME = re.compile(r"[A-Za-z0-9][\w.\-]*/[A-Za-z0-9][\w.\-]*")
_LOG_IN = "log in with: hf auth login (or set HF_TOKEN to a token that may write)"


def check_name(name: str) -> None:
    """Raise `UserError` if `name` is not USER/NAME."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"push={name}: expected USER/NAME, the name of a dataset on the hub, such as "
            "push=jane/adept"
        )


def check_login(name: str) -> None:
    """Check that the hub accepts the stored token, before anything is exported.

    Raises:
        UserError: there is no token, or the hub refuses it.
        JobFailed: the hub does not answer.
    """
    from huggingface_hub import HfApi, get_token

    # Of the HTTP library that this version of huggingface_hub uses; its own errors derive from it.
    from huggingface_hub.errors import HTTPError

    # It logs every request, at the level of our own lines.
    for library in ("httpx", "httpx2"):
        logging.getLogger(library).setLevel(logging.WARNING)
    if get_token() is None:
        raise UserError(f"push={name}: no token of the hub here; {_LOG_IN}")
    try:
        user = HfApi().whoami()["name"]
    except (HTTPError, OSError) as error:  # an OSError in offline mode
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status in (401, 403):
            raise UserError(f"push={name}: the hub refuses the stored token; {_LOG_IN}") from error
        raise JobFailed(f"push={name}: the hub does not answer ({first_line(error)})") from error
    log.info("pushing to %s as %s", name, user)


def push(folder: Path, name: str, private: bool) -> None:
    """Upload a finished export as the dataset `name`, in one commit.

    The repository is created if there is none. Parquet files of an earlier export that this one
    does not have are removed in the same commit.

    Raises:
        JobFailed: the upload failed; the export stays in its folder, and the message has the
            command that uploads it.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError

    api = HfApi()
    try:
        # None leaves it to the default of the user's organisation.
        api.create_repo(name, repo_type="dataset", private=private or None, exist_ok=True)
        commit = api.upload_folder(
            repo_id=name,
            repo_type="dataset",
            folder_path=folder,
            commit_message=f"{folder.name}: exported by Adnominal",
            delete_patterns=["*.parquet"],
        )
    # A ValueError is the hub's word on the card.
    except (HTTPError, OSError, ValueError) as error:
        raise JobFailed(
            f"push={name}: {first_line(error)}; the export is complete in {folder}: upload it "
            f"with: hf upload {name} {folder} --repo-type dataset"
        ) from error
    log.info("%s uploaded: %s", folder, commit.commit_url)
