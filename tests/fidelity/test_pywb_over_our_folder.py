"""pywb serves a collection's folder as it is: our WARC files, and our CDX server as its index."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path

import pytest
from support.archive.exchanges import DATE, HTML, digests, exchange, keep, response
from support.processes.machine_needs import free_port
from support.proxy.running_proxy import RunningProxy

from archive.capture import Original
from archive.settings.load import Settings
from archive.warc.writing.writer import WarcWriter
from bench.peers import KINDS
from bench.peers.peer import PeerUnavailable, wait_for_port
from bench.process import stop
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import Sidecars

PAGE, UPPER = "http://www.example.org/", "http://www.example.org/Upper?b=1&a=2"


def _collection(settings: Settings) -> None:
    """Two captures, and a revisit on the day after in a file of its own."""
    writer = WarcWriter(settings, "news")
    original = keep(writer, exchange("/", url=PAGE))
    other = response(b"<p>another page")
    keep(writer, exchange("/Upper", other, id="exchange-2", url=UPPER, digests=digests(other)))
    writer.close()
    writer = WarcWriter(settings, "news")
    later = {"started": DATE + 86_400_000_000, "id": "exchange-3", "url": PAGE}
    keep(writer, exchange("/", **later), Original.of(original))
    writer.close()
    with Captures(settings.database_url) as captures:
        Sidecars(settings.home, captures).reconcile("news")


@pytest.mark.timeout(600)  # pywb may have to be installed first
def test_pywb_finds_and_replays_what_is_in_the_folder(settings: Settings, tmp_path: Path) -> None:
    peer = KINDS["pywb"]()
    try:
        peer.prepare()
    except PeerUnavailable as error:
        pytest.skip(f"pywb can't be installed: {error}")
    _collection(settings)
    folder, port = tmp_path / "pywb", free_port()
    folder.mkdir()
    with RunningProxy(settings.home, {"proxy.mode": "replay", "proxy.collection": "news"}) as proxy:
        news = {
            "index": f"cdx+http://{proxy.ready['cdx']}/news/cdx",
            "archive_paths": f"{settings.archive_dir('news')}/",
        }
        (folder / "config.yaml").write_text(json.dumps({"collections": {"news": news}}))
        log = folder / "pywb.log"
        wayback = peer._bin / "wayback"  # type: ignore[attr-defined]
        with log.open("wb") as output:
            command = [str(wayback), "--bind", "127.0.0.1", "--port", str(port)]
            process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        try:
            wait_for_port("127.0.0.1", port, process, log)
            replayed = {}
            for timestamp, url in (("20261121", PAGE), ("20261122081500", PAGE), ("20261121", UPPER)):
                address = f"http://127.0.0.1:{port}/news/{timestamp}id_/{url}"
                with urllib.request.urlopen(address, timeout=60) as answer:
                    replayed[timestamp, url] = answer.read()
        finally:
            stop(process)
    assert replayed == {
        ("20261121", PAGE): HTML,
        ("20261122081500", PAGE): HTML,
        ("20261121", UPPER): b"<p>another page",
    }
