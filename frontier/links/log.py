"""links.log has one line of JSON for each link that was rejected, with the reason and the rule.

The process that decided writes the line. Links that were only seen before are left out, since they are most of a
site's links; those of which a Bloom filter alone says so are `perhaps-seen`. The log is rotated, and its oldest file is
removed when there are too many (`archive.rotated_log`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from archive.dates import Micros, iso_date, now_micros, parse_date
from archive.json_text import compact_json, parsed_object
from archive.rotated_log import RotatedLog
from archive.settings import LogSettings
from frontier.definition.scope import Rejected, ScopeDecision

FILE_NAME: Final = "links.log"
_SEEN: Final = "seen"
_SHOWN_URL: Final = 4_096
"""Characters of a URL and of the URL of its page in a line."""
_SHOWN_RULE: Final = 500
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LinkDecision:
    """A link was rejected for a reason of one word, by a rule. `via` is the page that has the link."""

    time: Micros
    url: str
    via: str
    hop_path: str
    reason: str
    rule: str

    def text(self) -> str:
        """Return the line without its end."""
        return compact_json(
            {
                "time": iso_date(self.time)[:-4] + "Z",
                "url": self.url[:_SHOWN_URL],
                "via": self.via[:_SHOWN_URL],
                "hop_path": self.hop_path,
                "reason": self.reason,
                "rule": self.rule[:_SHOWN_RULE],
            }
        )

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Return the decision of a line. Raises ValueError for a line that `text` did not make."""
        found = parsed_object(line.decode("utf-8", "replace"))
        texts = [found.get(name) for name in ("time", "url", "via", "hop_path", "reason", "rule")]
        if not all(isinstance(each, str) for each in texts):
            raise ValueError(f"no line of {FILE_NAME}: {line[:200]!r}")
        time, url, via, hop_path, reason, rule = map(str, texts)
        return cls(parse_date(time), url, via, hop_path, reason, rule)


class LinkLog:
    """The links.log of a job takes the decisions of any number of processes."""

    def __init__(self, folder: Path, settings: LogSettings) -> None:
        self._log = RotatedLog(folder / FILE_NAME, rotate_bytes=settings.links_bytes, most_parts=settings.links_files)
        self._is_lost = False

    def note(self, decisions: Sequence[ScopeDecision]) -> None:
        """Write a line for each rejected link. Lines that can't be written are lost, and one message says so."""
        now = now_micros()
        lines = [
            LinkDecision(
                now, each.candidate.url, each.candidate.via or "", each.candidate.hop_path, each.reason, each.rule
            ).text()
            for each in decisions
            if isinstance(each, Rejected) and each.reason != _SEEN
        ]
        try:
            self._log.append(lines)
            self._is_lost = False
        except OSError as error:
            if not self._is_lost:
                _log.warning("lines of %s are lost: %s", self._log.path, error.strerror or error)
            self._is_lost = True
