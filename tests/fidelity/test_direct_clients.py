"""The client's view of odd responses is what it would be without the proxy: curl and Chromium are asked both ways."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright
from support.clients import curl
from support.origins.odd_responses import RESPONSES, Odd
from support.origins.raw_origin import RawOrigin, Send, certificate_authority, response, server_tls
from support.processes.machine_needs import chromium
from support.proxy.running_proxy import RunningProxy

ADDRESS = "127.0.1.81"

_LENIENT = "curl gives up; Chromium and Firefox read it, and who browses through the proxy must see it"
_CLOSE = "curl gives up; browsers read such a body to the connection's end"
_NOTIFY = "curl 8 wants TLS to be closed with a notice; browsers show what came"
CURL_DIFFERS = {
    "status-line-twice": _LENIENT,
    "http-1.2": _LENIENT,
    "icy": "an old name of HTTP/1.0 for streams of music, which players read and row 1 of the requirements names",
    "leading-line-ends": _LENIENT,
    "leading-garbage": _LENIENT,
    "line-without-colon": _LENIENT,
    "negative-length": _CLOSE,
    "length-of-nothing": _CLOSE,
    "length-in-words": _CLOSE,
    "length-in-hex": "curl reads the 0 before the x; browsers read to the connection's end",
    "lengths-that-differ": "curl believes the last and misses bytes, Chromium gives up; the proxy goes by the first",
    "unknown-coding": "curl gives up; browsers show the bytes as they are",
    "quoted-coding": "curl gives up; browsers show the bytes as they are",
    "proxy-headers": "Ghostfleet-Error is the proxy's to say: an origin must not be able to fake it",
    "lone-cr-in-a-value": "a bare CR reaches clients as a space (RFC 9112 section 2.2); the record has the CR",
}
SOME_CURLS_DIFFER = {
    "tabs-in-the-status-line": _LENIENT,
    "spaces-in-the-status-line": _LENIENT,
    "folded-length": _LENIENT,
    "chunked-in-a-folded-line": _LENIENT,
    "length-with-plus": _LENIENT,
    "chunked-and-identity": _LENIENT,
    "close-delimited-half": _NOTIFY,
    "close-delimited-no-notify": _NOTIFY,
    "obs-fold": "the proxy unfolds lines, as RFC 9112 section 5.2 asks of proxies; the record has them folded",
}
"""What curl 7.88, 8.14 and 8.22 don't agree about."""
CHROMIUM_DIFFERS = {
    "icy": "Chromium takes it for HTTP/0.9 and shows the head as text",
    "http-1.0-chunked": "Chromium takes chunks in HTTP/1.0 for text; curl and others take them off, and so do we",
    "asks-as-a-proxy": "the proxy asks for its own password only: an origin's request for it is not passed on",
    "lengths-that-differ": CURL_DIFFERS["lengths-that-differ"],
    "proxy-headers": CURL_DIFFERS["proxy-headers"],
    "lone-cr-in-a-value": CURL_DIFFERS["lone-cr-in-a-value"],
}
_FETCH_ALL = """async (asked) => {
  const ours = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length"]);
  const one = async ([path, method]) => {
    const found = await fetch(path, {method, cache: "no-store", credentials: "omit", redirect: "manual"});
    const body = new Uint8Array(await found.arrayBuffer());
    const sum = body.reduce((sum, byte) => (sum * 31 + byte) % 4294967291, 7);
    const fields = [...found.headers].filter(([name]) => !ours.has(name));
    return [found.type, found.status, found.statusText, body.length, sum, fields];
  };
  const seen = [], left = [...asked.entries()];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      seen[next[0]] = await one(next[1]).catch(() => "failed");
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return seen;
}"""


@dataclass(frozen=True)
class Stage:
    proxy: RunningProxy
    plain: RawOrigin
    secure: RawOrigin

    def origins(self) -> tuple[RawOrigin, RawOrigin]:
        return self.plain, self.secure


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("direct")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as secure,
        RunningProxy(folder / "home", {"proxy.upstream_ca": folder / "ca.pem"}) as proxy,
    ):
        for origin in (plain, secure):
            origin.script("/", Send(response(b"<p>moss", b"Content-Type: text/html")))
            for odd in RESPONSES:
                origin.script(f"/{odd.name}", *odd.steps(odd.name.encode()))
        yield Stage(proxy, plain, secure)


@pytest.mark.timeout(300)
def test_curl_sees_the_same_but_where_we_mean_it_to_differ(
    stage: Stage, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    origins = stage.origins() if pytestconfig.getoption("--slow") else (stage.secure,)

    def views(odd: Odd) -> list[tuple[curl.Sight, curl.Sight]]:
        found = []
        for origin in origins:
            folder = tmp_path / odd.name / str(origin.port)
            folder.mkdir(parents=True)
            url, proxy = origin.url(f"/{odd.name}"), f"http://{stage.proxy.ready['proxy']}"
            direct = curl.look(url, folder, "--noproxy", "*", method=odd.method)
            found.append((direct, curl.look(url, folder, "--proxy", proxy, method=odd.method)))
        return found

    with ThreadPoolExecutor(4) as pool:
        seen = dict(zip([odd.name for odd in RESPONSES], pool.map(views, RESPONSES), strict=True))

    differing = {name: pairs for name, pairs in seen.items() if any(direct != by_us for direct, by_us in pairs)}
    excused = CURL_DIFFERS | SOME_CURLS_DIFFER
    assert {name: pairs for name, pairs in differing.items() if name not in excused} == {}
    assert sorted(set(CURL_DIFFERS) - set(differing)) == [], "what is no longer different needs no excuse"
    assert [name for name, pairs in seen.items() if any(by_us.exit for _, by_us in pairs) and name in differing] == []


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--proxy-bypass-list=<-loopback>"]
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        yield browser
        browser.close()


@pytest.mark.browser
@pytest.mark.timeout(300)
@pytest.mark.parametrize("origins", [1, pytest.param(2, marks=pytest.mark.slow)], ids=["plain", "plain and secure"])
def test_chromium_sees_the_same_but_where_we_mean_it_to_differ(stage: Stage, browser: Browser, origins: int) -> None:
    server = {"server": f"http://{stage.proxy.ready['proxy']}", "bypass": "<-loopback>"}
    differing: dict[str, Any] = {}
    for origin in stage.origins()[:origins]:
        direct = browser.new_context(ignore_https_errors=True).new_page()
        by_us = browser.new_context(ignore_https_errors=True, proxy=server).new_page()  # type: ignore[arg-type]
        for tab in (direct, by_us):
            tab.goto(origin.url("/"))
        asked = [[f"/{odd.name}", odd.method] for odd in RESPONSES]
        views = zip(direct.evaluate(_FETCH_ALL, asked), by_us.evaluate(_FETCH_ALL, asked), strict=True)
        differing |= {odd.name: seen for odd, seen in zip(RESPONSES, views, strict=True) if seen[0] != seen[1]}

    assert {name: seen for name, seen in differing.items() if name not in CHROMIUM_DIFFERS} == {}
    assert sorted(differing) == sorted(CHROMIUM_DIFFERS), "what is no longer different needs no excuse"
    assert stage.proxy.status()["urls_processed"] >= len(RESPONSES), "it went round the proxy"
