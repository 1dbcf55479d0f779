"""A collection learns a dictionary from itself, goes on in zstd with it, and is replayed as one."""

from __future__ import annotations

from pathlib import Path

from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, credentials

from archive.names.warc_paths import warc_files
from archive.warc.compression.zstd_frame import DICTIONARY_MAGIC
from archive.warc.upkeep.check import check

ADDRESS = "127.0.1.80"


def test_gzip_and_zstd_with_a_dictionary_of_it_are_one_collection(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with RawOrigin(ADDRESS) as origin:
        origin.otherwise(lambda asked: (Send(response(page(asked.split(b" ")[1], 3000))),))
        with RunningProxy(home) as proxy, proxy.connect() as client:
            for number in range(40):
                url = origin.url(f"/old/{number}")
                client.ask(f"GET {url} HTTP/1.1\r\nHost: {ADDRESS}\r\n\r\n".encode())
        made = proxy.command("dictionary", "default")
        assert made.returncode == 0, made.stderr

        dictionary = home / "collections/default/records.zdict"
        settings = {"archive.compression": "zstd", "archive.zstd_dictionary": str(dictionary)}
        with RunningProxy(home, settings) as proxy:
            assert proxy.get(origin.url("/new")).status == 200
            dictionary.unlink()
            assert proxy.get(origin.url("/newer")).status == 200
        with RunningProxy(home) as proxy:
            replay = credentials(proxy.control("POST", "/sessions", {"collection": "default", "mode": "replay"}))
            for path in ("/old/7", "/new", "/newer"):
                until(lambda path=path: proxy.get(origin.url(path), replay).status == 200, what=f"{path} in the index")
                assert proxy.get(origin.url(path), replay).body == page(path.encode(), 3000)

    (packed,) = proxy.folder().glob("*.warc.zst")
    assert packed.read_bytes().startswith(DICTIONARY_MAGIC)
    assert len(warc_files(proxy.folder())) == 2
    assert list(check(proxy.folder())) == []
