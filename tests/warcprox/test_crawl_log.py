"""crawl.log of traffic without a session: Heritrix's columns, and warcprox's reading of a client's metadata."""

from __future__ import annotations

from typing import Any

import pytest
from metaclient import MetaClient
from waiting import until
from warcprox_stage import Stage

from archive import crawl_log
from archive.crawl_log import LogLine


def line(stage: Stage, url: str) -> LogLine:
    """The only line of a URL, once it is there."""

    def found() -> list[LogLine]:
        path = stage.log_dir / "crawl.log"
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
        ({"limits": {"log/total/urls": 0}}, crawl_log.QUOTA),
    ],
)
def test_what_was_refused_has_its_line(stage: Stage, meta: dict[str, Any], code: int) -> None:
    url = stage.url(f"/log/refused{code}")
    stage.client.get(url, meta)

    assert (line(stage, url).code, line(stage, url).size) == (code, None)


def test_a_name_that_is_not_found_has_its_line(stage: Stage) -> None:
    MetaClient(stage.proxy).get("http://no-such-name.invalid/log")

    assert line(stage, "http://no-such-name.invalid/log").code == crawl_log.DNS
