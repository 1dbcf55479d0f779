"""What one exchange leaves: a response or revisit with its request, tied both ways, right for every outside reader."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.archive.oracles import fastwarc_check, jwarc_check
from support.archive.warc_reader import Archive, files
from support.origins.odd_responses import HEALTHY, page
from support.origins.raw_origin import RawOrigin, Send, certificate_authority, response, server_tls
from support.proxy.running_proxy import ROUTES, RunningProxy, request

ADDRESS = "127.0.1.23"
REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


@dataclass(frozen=True)
class Harvest:
    proxy: RunningProxy
    origin: RawOrigin
    archive: Archive


@pytest.fixture(scope="module")
def harvest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harvest]:
    """All healthy responses on all routes; one body under three URLs, twice each; a POST; stopped in order."""
    folder = tmp_path_factory.mktemp("pairs")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as secure,
        RunningProxy(folder / "home", {"proxy.upstream_ca": folder / "ca.pem"}) as proxy,
    ):
        for odd in HEALTHY:
            for route in ROUTES:
                origin = plain if route == "plain" else secure
                path = f"/{odd.name}/{route}"
                origin.script(path, *odd.steps(path.encode()))
                assert proxy.get(origin.url(path), route=route, method=odd.method).whole
        for number in (1, 2, 3, 1, 2, 3):
            plain.script(f"/same/{number}", Send(response(page(b"same"), b"X-Number: %d" % number)))
            assert proxy.get(plain.url(f"/same/{number}")).whole
        plain.script("/form", Send(response(page(b"thanks"))))
        proxy.exchange(request("plain", plain.url("/form"), method="POST", body=b"a=1&b=2"))
        proxy.stop()
        yield Harvest(proxy, plain, proxy.records())


def test_every_request_has_its_response_and_every_response_its_request(harvest: Harvest) -> None:
    by_id = {record.id: record for record in harvest.archive.records}
    exchanges = harvest.archive.kinds("response", "revisit")
    requests = harvest.archive.kinds("request")

    assert len(exchanges) == len(requests) == len(HEALTHY) * len(ROUTES) + 7
    for record in [*exchanges, *requests]:
        other = by_id[record.field("WARC-Concurrent-To") or ""]
        assert other.field("WARC-Concurrent-To") == record.id
        assert (other.kind == "request") != (record.kind == "request")
        assert (other.url, other.field("WARC-Date"), other.path) == (record.url, record.field("WARC-Date"), record.path)


def test_every_revisit_resolves_to_an_earlier_record_of_the_same_payload(harvest: Harvest) -> None:
    by_id = {record.id: record for record in harvest.archive.records}
    revisits = harvest.archive.kinds("revisit")

    assert len(revisits) == 5
    for revisit in revisits:
        original = by_id[revisit.field("WARC-Refers-To") or ""]
        assert original.kind == "response"
        assert original.payload_digest == revisit.payload_digest != ""
        assert original.url == revisit.field("WARC-Refers-To-Target-URI")
        assert original.field("WARC-Date") == revisit.field("WARC-Refers-To-Date")
        assert (original.field("WARC-Date") or "") < (revisit.field("WARC-Date") or "")


def test_a_revisit_keeps_its_own_head_and_nothing_else(harvest: Harvest) -> None:
    for number in (2, 3):
        for revisit in harvest.archive.of(harvest.origin.url(f"/same/{number}"), "revisit"):
            assert (
                revisit.block
                == response(page(b"same"), b"X-Number: %d" % number).partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
            )
            assert revisit.field("WARC-Truncated") == "length"
            assert revisit.field("WARC-Profile") == REVISIT_PROFILE


def test_a_posted_body_is_in_the_request_record(harvest: Harvest) -> None:
    (record,) = harvest.archive.of(harvest.origin.url("/form"), "request")

    assert record.block == harvest.origin.received("/form")
    assert record.block.endswith(b"\r\n\r\na=1&b=2")


def test_every_file_begins_with_a_warcinfo_that_its_records_name(harvest: Harvest) -> None:
    for path in files(harvest.proxy.folder()):
        first, *rest = [record for record in harvest.archive.records if record.path == path]
        assert first.kind == "warcinfo"
        assert {record.field("WARC-Warcinfo-ID") for record in rest} == {first.id}


def test_no_file_is_still_open_after_the_stop(harvest: Harvest) -> None:
    names = [path.name for path in files(harvest.proxy.folder())]

    assert names
    assert [name for name in names if not name.endswith(".warc.gz")] == []


def test_record_ids_are_unique(harvest: Harvest) -> None:
    ids = [record.id for record in harvest.archive.records]

    assert len(set(ids)) == len(ids)


def test_every_exchange_has_its_index_line_that_leads_to_it(harvest: Harvest) -> None:
    exchanges = {record.id: record for record in harvest.archive.kinds("response", "revisit")}
    lines = [line for line in harvest.proxy.sidecar_lines() if not line["url"].startswith("urn:certificates:")]

    assert {f"<urn:uuid:{line['id']}>" for line in lines} == set(exchanges)
    for line in lines:
        record = exchanges[f"<urn:uuid:{line['id']}>"]
        assert (line["filename"], int(line["offset"]), line["url"]) == (record.path.name, record.offset, record.url)
        assert f"sha1:{line['digest']}" == record.payload_digest


def test_fastwarc_finds_nothing(harvest: Harvest) -> None:
    for path in files(harvest.proxy.folder()):
        fastwarc_check(path)


def test_jwarc_finds_nothing(harvest: Harvest) -> None:
    for path in files(harvest.proxy.folder()):
        jwarc_check(path)


def test_warcio_finds_nothing_but_chunks_it_does_not_take_apart(harvest: Harvest) -> None:
    """warcio compares a payload digest with the body as it is in the block, chunks included (its issue 74)."""
    is_chunked = {r.id for r in harvest.archive.kinds("response") if b"\r\nTransfer-Encoding:" in r.block}
    for path in files(harvest.proxy.folder()):
        done = _warcio_check(path)
        assert done.stdout.count("WARC-Record-ID") == sum(r.path == path for r in harvest.archive.records), done.stderr
        record = ""
        for line in done.stdout.splitlines():
            if "WARC-Record-ID" in line:
                record = line.split()[3]
            assert "failed" not in line or ("payload digest" in line and record in is_chunked), line


def test_our_own_check_finds_nothing(harvest: Harvest) -> None:
    done = harvest.proxy.command("check", *map(str, files(harvest.proxy.folder())))

    assert done.returncode == 0, done.stdout + done.stderr


def _warcio_check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
