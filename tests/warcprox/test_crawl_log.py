"""crawl.log of traffic without a session: Heritrix's columns, and warcprox's reading of a client's metadata."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
from typing import Any

import pytest
from support.clients.brozzler_client import MetaClient
from support.origins.raw_origin import Send, response
from support.processes.waiting import until
from support.proxy.warcprox_stage import Stage

from archive import crawl_log
from archive.crawl_log import LogLine


def file_name(stage: Stage, prefix: str = "crawl") -> str:
    """Return the name that warcprox gives the log of a prefix."""
    return f"{prefix}-{socket.gethostname().partition('.')[0]}-{stage.proxy.address[1]}.log"


def line(stage: Stage, url: str, prefix: str = "crawl") -> LogLine:
    """Return the only line of a URL, once it is there."""

    def found() -> list[LogLine]:
        path = stage.log_dir / file_name(stage, prefix)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [parsed for text in lines if (parsed := crawl_log.parse(text)).url == url]

    (only,) = until(found, what=f"a line of {url}")
    return only


def test_a_plain_fetch(stage: Stage) -> None:
    url = stage.url("/log/plain")
    answer = stage.client.get(url)

    found = line(stage, url)
    assert (found.code, found.size, found.mime, found.hop_path, found.via) == (
        200,
        len(answer.content),
        "text/plain",
        "",
        "",
    )
    (record,) = stage.proxy.records(growing=True).of(url, "response")
    assert found.digest == record.payload_digest
    assert found.extra["contentSize"] == len(record.block)
    assert found.extra["warcFileOffset"] == record.offset
    assert found.extra["warcFilename"] == record.path.name.removesuffix(".open")
    assert found.annotations == ()


def test_a_duplicate_says_so(stage: Stage) -> None:
    for name in ("one", "two"):
        stage.client.get(stage.url(f"/{name}/loggedtwice"))

    (original,) = stage.proxy.records(growing=True).of(stage.url("/one/loggedtwice"), "response")
    found = line(stage, stage.url("/two/loggedtwice"))
    place = f"{original.path.name.removesuffix('.open')},{original.offset}"
    assert found.annotations == (
        "duplicate:digest",
        f'duplicate:"{place}"',
        f"content-size:{found.extra['contentSize']}",
    )


def test_each_prefix_has_a_log_of_its_own(stage: Stage) -> None:
    """As in warcprox, also for what is not archived (T39)."""
    for prefix in ("one", "two", "-"):
        url = stage.url(f"/log/prefix{prefix}")
        stage.client.get(url, {"warc-prefix": prefix})

        assert line(stage, url, prefix).code == 200

    assert {path.name for path in stage.log_dir.iterdir()} >= {file_name(stage, name) for name in ("one", "two", "-")}


@pytest.mark.parametrize("kind", ["resource", "metadata"])
def test_a_written_record_has_its_line(stage: Stage, kind: str) -> None:
    """Fields as in a line of warcprox 2.13 (T39)."""
    url, block = f"screenshot:{stage.url('/log/' + kind)}", b"not really a picture " + kind.encode()
    meta = {"warc-prefix": "written", "metadata": {"seed": "http://seed.example/"}}
    assert stage.client.write_record(url, block, meta, kind=kind)[0] == 204

    found = line(stage, url, "written")
    assert (found.code, found.size, found.mime, found.source) == (204, len(block), "text/plain", "http://seed.example/")
    assert found.digest == f"sha1:{base64.b32encode(hashlib.sha1(block).digest()).decode()}"
    assert (found.hop_path, found.via, found.annotations) == ("", "", ())
    assert found.started is not None
    (record,) = stage.proxy.records(growing=True).of(url)
    assert found.extra == {
        "contentSize": len(block),
        "warcFilename": record.path.name.removesuffix(".open"),
        "warcFileOffset": record.offset,
        "method": "WARCPROX_WRITE_RECORD",
    }


def test_a_written_record_that_is_not_archived_has_its_line_without_a_place(stage: Stage) -> None:
    stage.client.write_record("urn:not-archived", b"block", {"warc-prefix": "-"})

    found = line(stage, "urn:not-archived", "-")
    assert (found.code, found.digest) == (204, "")
    assert found.extra == {"contentSize": 5, "method": "WARCPROX_WRITE_RECORD"}


@pytest.mark.parametrize(("method", "told"), [("GET", None), ("HEAD", "HEAD"), ("POST", "POST")])
def test_a_method_other_than_get_is_named(stage: Stage, method: str, told: str | None) -> None:
    url = stage.url(f"/log/method{method}")
    stage.client.get(url, method=method)

    assert line(stage, url).extra.get("method") == told


PAGE = "http://page.example/"


@pytest.mark.parametrize(
    ("facts", "referrer", "hop_path", "via"),
    [
        (None, "http://ref.example/", "", "http://ref.example/"),
        (None, "http://ref.example/é", "", "http://ref.example/%C3%A9"),
        ({"seed": PAGE}, "http://ref.example/", "", "http://ref.example/"),
        ({"hop_path": "L", "hop_via_url": PAGE}, "http://ref.example/", "L", "http://ref.example/"),
        (
            {"hop_path": "L", "hop_via_url": "http://þzz.via/pé?q=é"},
            None,
            "L",
            "http://xn--zz-2ka.via/p%C3%A9?q=%C3%A9",
        ),
        ({"hop_via_url": PAGE}, None, "", ""),
        ({"hop_via_url": PAGE}, "http://ref.example/", "", ""),
        ({"hop_path": "L", "brozzled_url": "http://þzz.page/é"}, "http://r/", "LB", "http://xn--zz-2ka.page/%C3%A9"),
        ({"brozzled_url": PAGE}, None, "B", PAGE),
    ],
)
def test_via_is_what_warcprox_takes_for_it(
    stage: Stage, facts: dict[str, str] | None, referrer: str | None, hop_path: str, via: str
) -> None:
    """The expectations are lines that warcprox 2.13 wrote, but for the first é, which it wrote as mojibake (T39)."""
    url = stage.url(f"/log/via{abs(hash((str(facts), referrer)))}")
    meta = "" if facts is None else f"Warcprox-Meta: {json.dumps({'metadata': facts})}\r\n"
    referer = "" if referrer is None else f"Referer: {referrer}\r\n"
    with stage.proxy.connect() as client:
        assert client.ask(f"GET {url} HTTP/1.1\r\nHost: x\r\n{meta}{referer}\r\n".encode()).status == 200

    assert (line(stage, url).hop_path, line(stage, url).via) == (hop_path, via)


def test_a_response_without_a_media_type_is_unknown(stage: Stage) -> None:
    stage.plain.script("/log/untyped", Send(response(b"untyped")))
    stage.client.get(stage.url("/log/untyped"))

    assert line(stage, stage.url("/log/untyped")).mime == "unknown"


def test_a_page_and_its_embed_say_where_they_come_from(stage: Stage) -> None:
    page, embed = stage.url("/log/page"), stage.url("/log/embed")
    facts = {"seed": "http://seed.example/", "hop_path": "LL", "hop_via_url": "http://via.example/"}
    for url in (page, embed):
        stage.client.get(url, {"metadata": {**facts, "brozzled_url": page}})

    found = [line(stage, url) for url in (page, embed)]
    assert [(each.hop_path, each.via) for each in found] == [("LL", "http://via.example/"), ("LLB", page)]
    assert {each.source for each in found} == {"http://seed.example/"}


def test_a_method_that_is_not_archived_has_its_line(stage: Stage) -> None:
    stage.client.get(stage.url("/log/head"), method="HEAD")

    found = line(stage, stage.url("/log/head"))
    assert (found.code, found.size, found.annotations) == (200, 0, ("notArchived",))
    assert "warcFilename" not in found.extra


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({"blocks": [{"domain": "localhost"}]}, crawl_log.BLOCKED_BY_RULE),
        ({"stats": {"buckets": ["log"]}, "limits": {"log/total/urls": 0}}, crawl_log.QUOTA),
    ],
)
def test_what_was_refused_has_its_line(stage: Stage, meta: dict[str, Any], code: int) -> None:
    url = stage.url(f"/log/refused{code}")
    stage.client.get(url, meta)

    assert (line(stage, url).code, line(stage, url).size) == (code, None)


def test_a_name_that_is_not_found_has_its_line(stage: Stage) -> None:
    MetaClient(stage.proxy).get("http://no-such-name.invalid/log")

    assert line(stage, "http://no-such-name.invalid/log").code == crawl_log.DNS
