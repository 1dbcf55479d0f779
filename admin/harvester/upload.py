"""The files of a job are handed to the storage before the end of the job is reported: data files, then metadata."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import Final

from archive.settings.load import Settings
from archive.storage.storage import CopyStopped, Storage, StorageError
from archive.storage.upload import Uploader

log = logging.getLogger(__name__)

_BUSY_PAUSE: Final = 1.0


class UploadStopped(Exception):
    """The upload was broken off since the harvester is to end now; it goes on with the next start."""


def hand_over(
    settings: Settings, names: Collection[str], wait: Callable[[float], bool], is_over: Callable[[], bool]
) -> dict[str, str]:
    """Hand these files to the storage; those that failed in the last of several tries, and why. {} without a storage.

    Another uploader of this home may be at work on the same files: then its work is waited for. `wait` returns after
    so many seconds, `is_over` says whether there is no more time. Raises UploadStopped.
    """
    if not settings.storage.url or not names:
        return {}
    left, why = set(names), dict[str, str]()
    for number in range(settings.harvester.upload_tries):
        if number:
            wait(settings.harvester.upload_retry_seconds)
        why = _try(settings, left, wait, is_over)
        left = set(why)
        if not left:
            break
        log.warning("try %d: %d of %d files were not handed over: %s", number + 1, len(left), len(names), why)
    return why


def _try(
    settings: Settings, names: Collection[str], wait: Callable[[float], bool], is_over: Callable[[], bool]
) -> dict[str, str]:
    deadline = time.monotonic() + settings.harvester.process_seconds
    while True:
        if is_over():
            raise UploadStopped
        try:
            return Uploader(settings).hand_over(names, is_over)
        except CopyStopped as error:
            raise UploadStopped from error
        except (StorageError, OSError) as error:
            missing, trouble = _missing(settings, names), str(error)
            if not missing:
                return {}
            if time.monotonic() > deadline or "another uploader" not in trouble:
                return dict.fromkeys(missing, trouble)
            wait(_BUSY_PAUSE)


def _missing(settings: Settings, names: Collection[str]) -> set[str]:
    """Return the files that the storage does not have; all of them when it can't be asked."""
    try:
        storage, found = Storage(settings.storage), set[str]()
        for folder in {name.partition("/archive/")[0] for name in names}:
            found |= {f"{folder}/archive/{name}" for name in storage.sizes(f"{folder}/archive")}
        return set(names) - found
    except StorageError:
        return set(names)
