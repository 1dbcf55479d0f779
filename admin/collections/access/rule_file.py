"""The file with the access rules of a collection is read and changed here, by one process at a time.

The edition of the file is a number that is another one after each change, whoever made it. 0 is the edition of a
collection without rules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from archive.access_rules import FILE_NAME, AccessControl, AccessRule, AccessRuleError, AccessRules
from archive.file_lock import locked_folder
from archive.files import make_folder

_EDITION_BYTES: Final = 6
"""The number of bytes that make a number which JSON keeps exactly."""
_ID_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class EditedRules:
    """Edited rules are the rules of a collection in one edition of the file."""

    rules: AccessRules
    edition: int

    def with_id(self, rule_id: str) -> AccessRule | None:
        """Return the rule with this id; None without one."""
        return next((rule for rule in self.rules.rules if id_of(rule) == rule_id), None)


class RuleFile:
    """A rule file holds the rules of one collection."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of the collection."""
        self._folder = folder
        self._path = folder / FILE_NAME

    def read(self) -> EditedRules:
        """Return the rules with their edition. Raises AccessRuleError when they can't be read."""
        edition = self._edition()
        return EditedRules(_control(self._folder.parent).own_rules(self._folder.name), edition)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let no other process change the file within the block. Raises OSError."""
        make_folder(self._folder)
        with locked_folder(self._folder):
            yield

    def write(self, rules: AccessRules) -> EditedRules:
        """Replace the file durably, and return the rules with their edition. Raises OSError.

        Call it within `locked`.
        """
        rules.save(self._path)
        return EditedRules(rules, self._edition())

    def _edition(self) -> int:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise AccessRuleError(f"{self._path} can't be read: {error.strerror}") from error
        state = f"{there.st_ino} {there.st_mtime_ns} {there.st_size}".encode()
        return int.from_bytes(hashlib.sha256(state).digest()[:_EDITION_BYTES])


def id_of(rule: AccessRule) -> str:
    """Return what tells a rule from all others of a file: a digest of its URLs, its dates and its user."""
    period = rule.period
    bounds = (period.before, period.after, period.newer, period.older)
    said = repr((rule.key, rule.is_exact, bounds, rule.user)).encode("utf-8", "replace")
    return hashlib.sha256(said).hexdigest()[:_ID_DIGITS]


@lru_cache(maxsize=4)
def _control(collections: Path) -> AccessControl:
    return AccessControl(collections)
