"""A recording process asks another archive's CDX server: what is there is not kept again, faults do no harm."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from support.origins.odd_responses import page
from support.origins.raw_origin import Close, Drip, RawOrigin, Send, Step, Wait, response
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import crawl_session

CDX = "127.0.1.99"
PAGE = page(b"held in another archive")
DIGEST = base64.b32encode(hashlib.sha1(PAGE, usedforsecurity=False).digest()).decode()


@pytest.fixture
def cdx() -> Iterator[RawOrigin]:
    """A CDX server that has the page, under every URL."""
    with RawOrigin(CDX) as running:
        running.otherwise(held)
        yield running


@pytest.fixture
def pages(origin: RawOrigin) -> RawOrigin:
    origin.otherwise(lambda _: (Send(response(PAGE, b"Content-Type: text/plain")),))
    return origin


def held(request: bytes) -> Sequence[Step]:
    url = parse_qs(urlsplit(request.split(b" ", 2)[1].decode()).query)["url"][0]
    return (Send(response(f"20240102030405 {DIGEST} {url}\n".encode())),)


def process(folder: Path, redis_url: str, cdx: RawOrigin, **settings: object) -> ProxyProcess:
    asking = {"dedup.cdx_servers": {"default": cdx.url("/cdx")}}
    return ProxyProcess(folder / "home", redis_url, asking | {f"dedup.{name}": it for name, it in settings.items()})


def test_twins_at_once_are_all_revisits_of_it(tmp_path: Path, redis_url: str, cdx: RawOrigin, pages: RawOrigin) -> None:
    with process(tmp_path, redis_url, cdx) as proxy, ThreadPoolExecutor(8) as clients:
        replies = list(clients.map(proxy.get, [pages.url(f"/{number}") for number in range(16)]))

        assert all(reply.body == PAGE for reply in replies)
        assert len(proxy.records().kinds("revisit")) == 16
        assert proxy.records().kinds("response") == []
        assert proxy.status()["revisits"] == 16


def test_crawl_log_and_index_name_it_without_an_id(
    tmp_path: Path, redis_url: str, cdx: RawOrigin, pages: RawOrigin
) -> None:
    with process(tmp_path, redis_url, cdx) as proxy:
        with crawl_session(proxy, tmp_path / "logs") as session:
            proxy.get(pages.url("/page"), session)
        (line,) = (tmp_path / "logs" / "crawl.log").read_text().splitlines()
        (indexed,) = (each for each in proxy.sidecar_lines() if each["mime"] == "warc/revisit")

    assert "duplicate:digest" in line
    told = json.loads(line[line.index("{") :])
    assert (told["warcRefersToTargetURI"], told["warcRefersToDate"][:19]) == (pages.url("/page"), "2024-01-02T03:04:05")
    assert "warcRefersTo" not in told
    assert "refers_to" not in indexed
    assert indexed["refers_to_date"] == "2024-01-02T03:04:05.000000Z"


def test_a_page_of_which_dedup_is_declined_is_not_asked_for(
    tmp_path: Path, redis_url: str, cdx: RawOrigin, pages: RawOrigin
) -> None:
    with process(tmp_path, redis_url, cdx, min_text_bytes=len(PAGE) + 1) as proxy:
        proxy.get(pages.url("/small"))
        assert proxy.kept(pages.url("/small")).kind == "response"
    assert cdx.visits == []


@pytest.mark.parametrize("fault", ["fails", "is silent", "drips", "talks nonsense", "floods", "is gone"])
def test_whatever_it_does_pages_are_kept_and_answered(
    tmp_path: Path, redis_url: str, cdx: RawOrigin, pages: RawOrigin, fault: str
) -> None:
    over = threading.Event()
    steps: dict[str, Sequence[Step]] = {
        "fails": (Send(response(b"no", status=b"500 No")),),
        "is silent": (Wait(over),),
        "drips": (Send(b"HTTP/1.1 200 OK\r\n\r\n"), Drip(b"x" * 1_000_000, 0.01)),
        "talks nonsense": (Send(b"\x16\x03\x01\x00" * 5000), Close()),
        "floods": (Send(response(b"20240102030405 nothing\n" * 500_000)),),
    }
    if fault == "is gone":
        cdx.close()
    else:
        cdx.otherwise(lambda _: steps[fault])
    seconds = 20.0 if fault == "floods" else 0.3  # a flood is cut off by its size, also on a slow machine
    with process(tmp_path, redis_url, cdx, cdx_seconds=seconds, min_bytes=1) as proxy:
        with ThreadPoolExecutor(8) as clients:
            bodies = {page(b"%d" % number): f"/{number}" for number in range(24)}
            for body, path in bodies.items():
                pages.script(path, Send(response(body)))
            replies = list(clients.map(proxy.get, map(pages.url, bodies.values())))
        assert [reply.body for reply in replies] == list(bodies)
        assert all(proxy.kept(pages.url(path)) for path in bodies.values())
        found = proxy.status()

        assert found["foreign_found"] == 0
        is_in_trouble = fault != "floods"
        assert (found["foreign_unavailable"] > 0) is is_in_trouble
        assert found["foreign_unavailable_because"].startswith("CDX server ") is is_in_trouble
        assert f"ghostfleet_foreign_answers {float(not is_in_trouble)}" in proxy.metrics()
        over.set()
