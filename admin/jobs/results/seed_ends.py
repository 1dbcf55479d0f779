"""The ends of a job's seeds may be millions, so that they are kept in a temporary file between decision and reports."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Iterable, Iterator

from admin.jobs.results.ending import SeedEnd
from admin.jobs.states import SeedState
from archive.json_text import compact_json


class SpooledEnds:
    """The ends of seeds can be read any number of times, by one reader at a time."""

    def __init__(self, ends: Iterable[SeedEnd]) -> None:
        """Write the ends to the file. Raises OSError when there is no space."""
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed with the object
        weakref.finalize(self, self._file.close)
        for end in ends:
            self._file.write(f"{compact_json([end.url, end.state, end.code, end.why])}\n")

    def __iter__(self) -> Iterator[SeedEnd]:
        self._file.seek(0)
        for line in self._file:
            url, state, code, why = json.loads(line)
            yield SeedEnd(url, SeedState(state), code, why)
