"""The newest complete checkpoint of a run.

The Trainer writes checkpoints and, when it resumes, takes the one with the highest number, complete
or not. So a file that names every other file and its size is added to each checkpoint after all
processes have written it, and only a checkpoint whose files are all there is resumed.
"""

import json
import logging
import os
import shutil
from argparse import Namespace
from pathlib import Path

from adnominal.conf import JobFailed
from adnominal.training import launch
from adnominal.training.files import replace_json, sync

_COMPLETE = "complete.json"
log = logging.getLogger("adnominal")


def mark_incomplete(checkpoint: Path) -> None:
    """Make the folder of a checkpoint that is about to be saved, and take the mark from one that is
    saved again, as at the end of an epoch.

    Every process must call this. The folder is there before any of them goes on: the Trainer takes
    a best checkpoint for the best only where its folder exists, and processes that disagree on that
    would wait for each other forever when it is loaded.
    """
    if launch.rank() == 0:
        checkpoint.mkdir(parents=True, exist_ok=True)
        (checkpoint / _COMPLETE).unlink(missing_ok=True)
    launch.barrier()


def mark_complete(checkpoint: Path) -> None:
    """Mark a checkpoint that every process has written; every process must call this."""
    launch.barrier()
    if launch.local_rank() == 0:
        sync(checkpoint)  # on every machine, whose processes wrote parts of it
    launch.barrier()
    if launch.rank() == 0:
        sizes = {os.fspath(path.relative_to(checkpoint)): size for path, size in _sizes(checkpoint)}
        replace_json(checkpoint / _COMPLETE, {"world": launch.world_size(), "files": sizes})
    launch.barrier()


def _sizes(checkpoint: Path) -> list[tuple[Path, int]]:
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file())
    return [(path, path.stat().st_size) for path in files]


def newest_checkpoint(folder: Path) -> Path | None:
    """Return the newest complete checkpoint, the same in every process; None if there is none.

    Incomplete ones, of a run that was killed while saving, are deleted.

    Raises:
        JobFailed: a file of the newest checkpoint is missing or has another size.
    """
    checkpoint: Path | None = None
    problem: str | None = None
    if launch.rank() == 0:
        try:
            checkpoint = _find_newest(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            problem = f"{type(error).__name__}: {error}"
    checkpoint, problem = launch.broadcast((checkpoint, problem))
    if problem is not None:
        raise JobFailed(
            f"{folder.parent}: its checkpoint cannot be read ({problem}); delete {folder} to start "
            "over with the same command"
        )
    return checkpoint


def _find_newest(folder: Path) -> Path | None:
    """The newest complete checkpoint of the folder, whose incomplete newer ones are deleted."""
    numbered = {
        int(path.name.removeprefix("checkpoint-")): path for path in folder.glob("checkpoint-*")
    }
    for number in sorted(numbered, reverse=True):
        checkpoint = numbered[number]
        if not (checkpoint / _COMPLETE).is_file():
            log.info("%s was not written completely; deleted", checkpoint)
            shutil.rmtree(checkpoint)
            continue
        values = json.loads((checkpoint / _COMPLETE).read_text(encoding="utf-8"))
        for name, size in values["files"].items():
            path = checkpoint / name
            size_left = path.stat().st_size if path.is_file() else 0
            if size_left != size:
                raise ValueError(f"{path} has {size_left} of {size} bytes")
        return checkpoint
    return None


def make_universal_for(checkpoint: Path) -> bool:
    """Rewrite a DeepSpeed checkpoint if it is of another number of processes; whether it is.

    ZeRO's shards depend on the number of processes; DeepSpeed's universal form has each parameter
    and its optimizer state whole. Every process must call this.
    """
    values = json.loads((checkpoint / _COMPLETE).read_text(encoding="utf-8"))
    if values["world"] == launch.world_size():
        return False
    if launch.rank() == 0:
        from deepspeed.checkpoint import ds_to_universal

        (source,) = checkpoint.glob("global_step*[0-9]")
        target = source.with_name(f"{source.name}_universal")
        shutil.rmtree(target, ignore_errors=True)
        with launch.silence():
            ds_to_universal.main(
                Namespace(
                    input_folder=os.fspath(source),
                    output_folder=os.fspath(target),
                    # One worker each: a pool would fork a process that has threads.
                    num_extract_workers=1,
                    num_merge_workers=1,
                    keep_temp_folder=False,
                    strict=True,
                    inject_missing_state=True,
                )
            )
    launch.barrier()
    return True
