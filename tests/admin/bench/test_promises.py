"""What the fault judge says of revisits: each has its original here, or says that it is elsewhere."""

from __future__ import annotations

from pathlib import Path

from admin.bench.faults.case import Case, Evidence
from admin.bench.faults.promises import PROMISES
from admin.bench.faults.records import Stored
from admin.bench.faults.traces import Traces


def _complaints(**fields: str) -> list[str]:
    said = {"warc-type": "revisit", "warc-record-id": "<urn:uuid:r>"} | {
        name.replace("_", "-"): value for name, value in fields.items()
    }
    traces = Traces(records=[Stored(Path("a.warc.gz"), 0, 1, said, b"")])
    return list(PROMISES["revisits have their original"](Case(Evidence(Path("home"), "news", ()), traces, {})))


def test_an_original_that_is_nowhere_is_found() -> None:
    assert _complaints(warc_refers_to="<urn:uuid:o>") == ["the original of r is nowhere"]
    assert _complaints(warc_refers_to_target_uri="http://example.org/") == ["the original of r is nowhere"]


def test_one_in_another_archive_resolves_there() -> None:
    assert _complaints(warc_refers_to_container="http://cdx.example.org/cdx") == []
