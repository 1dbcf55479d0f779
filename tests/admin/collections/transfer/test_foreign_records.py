"""WARC files in the forms of other programs are imported, checked and replayed like our own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from support.archive.foreign_warcs import PATHS, WRITERS, http
from support.archive.heritrix_crawl.site import PAGES, URL, WARC
from support.archive.imported_collection import ImportedShelf, made
from support.processes.ghostfleet_command import ROOT
from support.proxy.running_proxy import RunningProxy

from admin.collections.transfer.importing import ImportOutcome
from archive.capture import Original
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.upkeep.check import Level, check


def test_records_of_other_programs_are_replayed(home: Path, tmp_path: Path) -> None:
    for host, write in WRITERS.items():
        (tmp_path / f"{host}.warc.gz").write_bytes(write(host))
    shutil.copy(WARC, tmp_path)

    command = [sys.executable, "-m", "admin.cli", "collection", "import", "old", tmp_path, "--home", home, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=100, check=False)

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, lines[-1]["imported"], lines[-1]["refused"]) == (0, len(WRITERS) + 1, 0)
    names = sorted(Path(line["source"]).name for line in lines[:-1] if line["problems"])
    assert names == [WARC.name, "old-heritrix.example.warc.gz"]
    problems = [each for each in check(home / "collections/old/archive") if each.level is Level.PROBLEM]
    assert [each.message for each in problems] == ["the revisit names no original"]
    captures = [each for path in (home / "collections/old/indexes").glob("*.cdxj") for each in cdxj.read(path, "old")]
    names = sorted(each.url for each in captures if each.url.startswith("dns:"))
    assert names == ["dns:hill.example", "dns:old-heritrix.example"]

    pages = {f"http://{host}{path}": body for host in WRITERS for path, body in PATHS.items()}
    pages |= {URL + path: body for path, body in PAGES.items()}
    del pages["http://old-heritrix.example/again"]  # such a revisit names no original of another address
    with RunningProxy(home, {"proxy.mode": "replay", "proxy.collection": "old"}) as proxy:
        replies = {url: proxy.get(url) for url in pages}
        conditional = proxy.get("http://old-heritrix.example/unchanged", 'If-None-Match: "u1"')
    assert {url: (each.status, each.body) for url, each in replies.items()} == {
        url: (200, body) for url, body in pages.items()
    }
    assert conditional.status == 304


def test_odd_fields_of_a_record_stop_no_import(settings: Settings) -> None:
    url = "http://hill.example/"
    revisit, _ = made(
        "revisit",
        url,
        http(b""),
        WARC_Payload_Length="97 bytes",
        WARC_Refers_To="<urn:uuid:1>",
        WARC_Refers_To_Target_URI=url,
        WARC_Refers_To_Date="yesterday",
    )
    odd_port, _ = made("response", f"http://hill.example:{'9' * 5000}/", http(b"odd"))
    with ImportedShelf(settings) as shelf:
        done = shelf.take(revisit, odd_port)
        (capture,) = shelf.rows(url)

    assert (done.outcome, done.captures) == (ImportOutcome.IMPORTED, 2)
    assert capture.payload_length == 0
    assert capture.refers_to == Original("1", url, capture.date)
