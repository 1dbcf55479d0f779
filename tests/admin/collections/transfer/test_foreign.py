"""Crawls by wget, warcprox, py-wacz and Browsertrix are imported, checked, replayed, and packaged again."""

from __future__ import annotations

import gzip
import http.client
import json
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.archive.foreign_warcs import LISTED, by_browsertrix, package_of
from support.origins.raw_origin import RawOrigin, Send
from support.origins.raw_origin import response as answer
from support.processes import machine_needs as needs
from support.processes.ghostfleet_command import ROOT
from support.proxy.running_proxy import RunningProxy

from admin.collections.transfer.importing import PAGES_FOLDER
from archive.wacz.reader import ForeignPackage, PackageError
from archive.warc.upkeep.check import check
from bench.peers.peer import PeerSetup, PeerUnavailable, install
from bench.peers.warcprox import Warcprox

PAGE = b"<!doctype html><title>A hill</title><a href=/second>on</a><p>Linnets."
SECOND = b"<!doctype html><title>Second</title><p>More linnets."


def _run(home: Path, *arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
    done = subprocess.run(
        [sys.executable, "-m", "admin.cli", *map(str, arguments), "--home", str(home), "--json"],
        capture_output=True, text=True, cwd=ROOT, timeout=100, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def _replayed(home: Path, collection: str, urls: dict[str, bytes]) -> None:
    """Fail unless a replay proxy answers these URLs with these bodies."""
    settings = {"proxy.mode": "replay", "proxy.collection": collection}
    with RunningProxy(home, settings) as proxy:
        for url, body in urls.items():
            reply = proxy.get(url)
            assert (url, reply.status, reply.body) == (url, 200, body)


def _pages(home: Path, collection: str) -> list[dict[str, Any]]:
    folder = home / "collections" / collection / PAGES_FOLDER
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin("127.0.1.41") as site:
        site.answer("/", lambda request: (Send(answer(PAGE, b"Content-Type: text/html")),))
        site.answer("/second", lambda request: (Send(answer(SECOND, b"Content-Type: text/html")),))
        site.otherwise(lambda request: (Send(answer(b"none", status=b"404 Not Found")),))
        yield site


def _by_wget(origin: RawOrigin, folder: Path, *options: str) -> Path:
    wget = needs.program("wget", "it writes WARC files")
    folder.mkdir()
    command = [
        wget,
        "-q",
        "-r",
        "--tries=1",
        "--timeout=60",
        "--warc-file",
        str(folder / "crawl"),
        "-P",
        str(folder / "site"),
        *options,
    ]
    subprocess.run([*command, origin.url("/")], timeout=100, check=False)
    (found,) = folder.glob("crawl.warc*")
    return found


@pytest.mark.parametrize("options", [(), ("--no-warc-compression",)])
def test_a_crawl_of_wget(origin: RawOrigin, home: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    warc = _by_wget(origin, tmp_path / "wget", *options)
    assert b"WARC-Target-URI: <http" in (gzip.decompress if warc.suffix == ".gz" else bytes)(warc.read_bytes())
    code, lines = _run(home, "collection", "import", "old", warc)
    assert (code, lines[-1]["imported"], lines[0]["problems"]) == (0, 1, 0)
    assert not list(check(home / "collections/old/archive"))
    _replayed(home, "old", {origin.url("/"): PAGE, origin.url("/second"): SECOND})


def test_a_post_of_wget_and_its_revisits(origin: RawOrigin, home: Path, tmp_path: Path) -> None:
    form, folder = origin.url("/form"), tmp_path / "wget"
    origin.answer("/form", lambda request: (Send(answer(b"sent " + request[:3], b"Content-Type: text/plain")),))
    _by_wget(origin, folder, "--warc-cdx")
    wget = needs.program("wget", "it writes WARC files")
    quiet = [wget, "-q", "--tries=1", "--timeout=60", "-O", str(tmp_path / "out")]
    more = ["--warc-file", str(folder / "more"), f"--warc-dedup={folder / 'crawl.cdx'}"]
    subprocess.run([*quiet, *more, "-p", origin.url("/"), origin.url("/second")], timeout=100, check=False)
    sent = ["--warc-file", str(folder / "sent"), "--post-data=q=moss", form]
    subprocess.run([*quiet, *sent], timeout=100, check=False)
    assert b"WARC-Type: revisit" in gzip.decompress((folder / "more.warc.gz").read_bytes())

    code, lines = _run(home, "collection", "import", "old", folder / "more.warc.gz", folder / "crawl.warc.gz")
    assert (code, lines[-1]["imported"]) == (0, 2)
    assert _run(home, "collection", "import", "old", folder / "sent.warc.gz")[0] == 0
    _replayed(home, "old", {origin.url("/"): PAGE, origin.url("/second"): SECOND})
    with RunningProxy(home, {"proxy.mode": "replay", "proxy.collection": "old"}) as proxy:
        assert proxy.get(form).status == 404


@pytest.mark.timeout(600)  # py-wacz may have to be installed first
def test_a_package_of_py_wacz_keeps_its_titles_when_it_is_packaged_again(
    origin: RawOrigin, home: Path, tmp_path: Path
) -> None:
    warc = _by_wget(origin, tmp_path / "wget")
    try:
        wacz = install("wacz", "wacz==0.6.0") / "wacz"
    except PeerUnavailable as error:
        pytest.skip(f"py-wacz can't be installed: {error}")
    package = tmp_path / "hill.wacz"
    wanted = {"url": origin.url("/second"), "title": "By hand", "text": "linnets"}
    (tmp_path / "pages.jsonl").write_text(f'{{"format":"json-pages-1.0","id":"pages"}}\n{json.dumps(wanted)}\n')
    subprocess.run([wacz, "create", "-o", package, "-p", tmp_path / "pages.jsonl", warc], timeout=100, check=True)
    code, lines = _run(home, "collection", "import", "old", package)
    assert (code, lines[0]["outcome"], lines[0]["problems"]) == (0, "imported", 0)
    assert lines[-1]["pages"] == 1
    assert [(page["url"], page["title"]) for page in _pages(home, "old")] == [(origin.url("/second"), "By hand")]
    _replayed(home, "old", {origin.url("/"): PAGE, origin.url("/second"): SECOND})
    _run(home, "wacz", "old", "-o", tmp_path / "again.wacz")
    again = {page["url"]: page for page in _listed(tmp_path / "again.wacz")}
    assert again[origin.url("/second")]["text"] == "linnets"


@pytest.mark.timeout(600)  # warcprox may have to be installed first
def test_a_crawl_through_warcprox(origin: RawOrigin, home: Path, tmp_path: Path) -> None:
    peer = Warcprox()
    try:
        peer.prepare()
        running = peer.start(PeerSetup(tmp_path, 1, tmp_path / "none"))
    except PeerUnavailable as error:
        pytest.skip(f"warcprox can't be run: {error}")
    try:
        for path in ("/", "/second", "/second"):
            connection = http.client.HTTPConnection(running.host, running.port, timeout=30)
            connection.request("GET", origin.url(path))
            assert connection.getresponse().read()
            connection.close()
    finally:
        running.stop()
    code, lines = _run(home, "collection", "import", "old", running.warcs)
    assert (code, lines[-1]["refused"], lines[-1]["left_out"]) == (0, 0, 0)
    _replayed(home, "old", {origin.url("/"): PAGE, origin.url("/second"): SECOND})


def _listed(package: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(package) as opened:
        return [json.loads(line) for line in opened.read("pages/pages.jsonl").decode().splitlines()[1:]]


def test_a_package_of_browsertrix(home: Path, tmp_path: Path) -> None:
    package = package_of(tmp_path / "hill.wacz", by_browsertrix(), LISTED)
    code, lines = _run(home, "collection", "import", "old", package)
    assert (code, lines[-1]["pages"], lines[0]["captures"]) == (0, 1, 3)
    settings = {"proxy.mode": "replay", "proxy.collection": "old"}
    with RunningProxy(home, settings) as proxy:
        reply = proxy.get("https://hill.example:443/", route="connect")
        assert (reply.status, reply.body) == (200, PAGE)
    assert _run(home, "wacz", "old", "-o", tmp_path / "again.wacz")[0] == 0
    (page,) = _listed(tmp_path / "again.wacz")
    assert (page["id"], page["title"], page["seed"], page["text"]) == (
        "page-1", "The hill", True, "Linnets on a hill.",
    )  # fmt: skip


def test_a_second_import_of_a_package_changes_nothing(home: Path, tmp_path: Path) -> None:
    package = package_of(tmp_path / "hill.wacz", by_browsertrix(), LISTED)
    _run(home, "collection", "import", "old", package)
    before = _pages(home, "old")
    code, lines = _run(home, "collection", "import", "old", package)
    assert (code, lines[-1]["present"], lines[-1]["pages"], lines[-1]["captures"]) == (0, 1, 1, 0)
    assert _pages(home, "old") == before


def test_packages_that_a_multi_wacz_description_names(home: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    package_of(tmp_path / "sub/hill.wacz", by_browsertrix(), LISTED)
    package_of(tmp_path / "outside.wacz", by_browsertrix())
    names = ["hill.wacz", "../outside.wacz", "https://far.example/a.wacz", "missing.wacz"]
    described = {"profile": "multi-wacz-package", "resources": [{"path": name} for name in names]}
    (tmp_path / "sub/all.json").write_text(json.dumps(described))
    code, lines = _run(home, "collection", "import", "old", tmp_path / "sub/all.json")
    assert (code, lines[-1]["imported"], lines[-1]["refused"], lines[-1]["pages"]) == (1, 1, 3, 1)
    assert "download it" in lines[2]["reason"]


def test_a_wrong_checksum_of_the_package_is_named_and_strict_refuses(home: Path, tmp_path: Path) -> None:
    package = package_of(tmp_path / "hill.wacz", by_browsertrix(), promised="sha256:" + "0" * 64)
    code, lines = _run(home, "collection", "import", "old", package, "--strict")
    assert (code, lines[0]["outcome"]) == (1, "refused")
    code, lines = _run(home, "collection", "import", "old", package)
    assert (code, lines[0]["outcome"]) == (0, "imported")
    assert "SHA-256" in lines[0]["first_problems"][0]


def test_names_of_members_lead_nowhere(home: Path, tmp_path: Path) -> None:
    package = package_of(tmp_path / "hill.wacz", by_browsertrix(), member="archive/../../../../evil.warc.gz")
    code, lines = _run(home, "collection", "import", "old", package)
    assert (code, lines[0]["name"]) == (0, "evil.warc.gz")
    assert [path.name for path in tmp_path.rglob("evil*") if path.suffix == ".gz"] == ["evil.warc.gz"]
    assert (home / "collections/old/archive/evil.warc.gz").exists()


def test_hostile_lists_of_pages_are_bounded(home: Path, tmp_path: Path) -> None:
    lines = [
        LISTED, "[" * 100_000, "null", '{"url":5,"ts":1}', '{"url":"javascript:alert(1)","ts":"2026"}',
        '{"url":"http://a.example/","ts":1e400}', '{"url":"http://late.example/","ts":253402300800000}',
        '{"url":"http://later.example/","ts":1e300}', '{"url":"http://early.example/","ts":-1e14}', '{"url":"http://a.example/","ts":"never"}',
        '{"url":"http://a.example/","ts":1772600767890,"title":["x"],"depth":-1,"text":"' + "t" * 600_000 + '"}',
        '{"url":"http://long.example/","ts":"2026","text":"' + "t" * (9 << 20) + '"}',
        '{"url":"http://b.example/","ts":"2026-01-01","title":"\\ud800"}',
    ]  # fmt: skip
    package = package_of(tmp_path / "hill.wacz", by_browsertrix(), "\n".join(lines))
    code, said = _run(home, "collection", "import", "old", package)
    assert (code, said[-1]["pages"]) == (0, 3)
    known = {page["url"]: page for page in _pages(home, "old")}
    assert set(known) == {"https://hill.example/", "http://a.example/", "http://b.example/"}
    assert len(known["http://a.example/"].pop("text")) == 500_000
    assert known["http://a.example/"]["title"] == ""
    assert _run(home, "wacz", "old", "-o", tmp_path / "again.wacz")[0] == 0


def test_lines_and_entries_that_can_not_be_used_are_counted_and_named(home: Path, tmp_path: Path) -> None:
    lines = [LISTED.rstrip("\n"), "not json", "", '{"url":"http://a.example/"}', '{"ts":"2026"}', "[1]"]
    package = package_of(tmp_path / "hill.wacz", by_browsertrix(), "\n".join(lines))
    with zipfile.ZipFile(package, "a") as opened:
        opened.writestr("pages/extraPages.jsonl", b'{"url":"http://b.example/","ts":"2026","title":"Caf\xe9"}\n')
    code, said = _run(home, "collection", "import", "old", package)
    assert (code, said[-1]["pages"], said[-1]["package_flaws"]) == (0, 2, 5)
    told = said[-1]["first_package_flaws"]
    places = [f"hill.wacz: pages/pages.jsonl line {number}: " for number in (3, 5, 6, 7)]
    assert all(line.startswith(place) for line, place in zip(told, places, strict=False))
    assert "is not UTF-8" in told[-1]

    described = {"resources": [5, {"path": "archive/none.warc.gz"}, {"path": "archive/data.warc.gz", "hash": "md5:1"}]}
    other = tmp_path / "other.wacz"
    with zipfile.ZipFile(other, "w") as opened:
        opened.writestr("archive/data.warc.gz", by_browsertrix())
        opened.writestr("datapackage.json", json.dumps(described))
    code, said = _run(home, "collection", "import", "other", other)
    assert (code, said[-1]["package_flaws"]) == (0, 3)
    assert [line.partition("resource ")[2][:1] for line in said[-1]["first_package_flaws"]] == ["1", "2", "3"]


def test_a_package_with_a_million_names_is_refused_unread(home: Path, tmp_path: Path) -> None:
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0)
    directory = b"".join(entry + b"%08d" % number for number in range(1_000_000))
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)
    (tmp_path / "names.wacz").write_bytes(directory + end)
    code, lines = _run(home, "collection", "import", "old", tmp_path / "names.wacz")
    assert (code, lines[0]["outcome"]) == (1, "refused")
    assert "its list of files has more than" in lines[0]["reason"]


def test_a_bomb_is_no_warc_file_and_leaves_nothing(home: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.wacz", "w") as package:
        package.writestr("archive/bomb.warc.gz", bytes(200 << 20), zipfile.ZIP_DEFLATED)
    assert (tmp_path / "bomb.wacz").stat().st_size < 300_000
    code, lines = _run(home, "collection", "import", "old", tmp_path / "bomb.wacz")
    assert (code, lines[0]["outcome"]) == (1, "refused")
    assert list((home / "collections/old/archive").iterdir()) == []


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_of_a_method_that_has_no_limit_are_not_unpacked(home: Path, tmp_path: Path, method: int) -> None:
    package = tmp_path / "bomb.wacz"
    pages = b'{"url":"http://a.example/","ts":"2026"}'
    with zipfile.ZipFile(package, "w") as opened:
        opened.writestr("archive/hill.warc.gz", by_browsertrix())
        opened.writestr("archive/other.warc.gz", bytes(100 << 20), method)
        opened.writestr("datapackage.json", json.dumps({"resources": []}).ljust(100 << 20), method)
        opened.writestr("pages/pages.jsonl", pages, method)
    with ForeignPackage(package) as opened_package:
        tracemalloc.start()
        try:
            flaws, listed = list(opened_package.flaws()), list(opened_package.pages())
            with (
                pytest.raises(PackageError, match="compressed by method"),
                opened_package.open("archive/other.warc.gz") as member,
            ):
                member.read(1)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (listed, len(flaws)) == ([], 1)
    assert peak < 16 << 20
    code, lines = _run(home, "collection", "import", "old", package)
    assert (code, [line["outcome"] for line in lines[:2]]) == (1, ["imported", "refused"])
    assert "compressed by method" in lines[1]["reason"]


def test_a_member_that_is_damaged_is_refused(home: Path, tmp_path: Path) -> None:
    package = package_of(tmp_path / "hill.wacz", by_browsertrix())
    raw = bytearray(package.read_bytes())
    raw[200] ^= 0xFF
    package.write_bytes(raw)
    code, lines = _run(home, "collection", "import", "old", package)
    assert (code, lines[0]["outcome"]) == (1, "refused")
    assert "damaged" in lines[0]["reason"]
