"""A real browser on the main port: what steers it may command the recorder, the pages in it may not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from support.clients.raw_client import Client
from support.origins.raw_origin import RawOrigin, Send, certificate_authority, response, server_tls
from support.processes.machine_needs import chromium
from support.proxy.proxy_process import ProxyProcess

pytestmark = pytest.mark.browser

ADDRESS = "127.0.1.72"
PAGE = response(b"<!doctype html><title>page</title>", b"Content-Type: text/html")
CONSENT = response(
    b"",
    b"Access-Control-Allow-Origin: *",
    b"Access-Control-Allow-Methods: *",
    b"Access-Control-Allow-Headers: Warcprox-Meta, WARC-Type",
)
FETCH = """
async ([url, meta, method]) => {
    const headers = {...(meta && {"Warcprox-Meta": meta}), ...(method == "GET" ? {} : {"WARC-Type": "metadata"})};
    try {
        return (await fetch(url, {method, headers, ...(method == "GET" ? {} : {body: "lies"})})).status;
    } catch (error) {
        return String(error);
    }
}
"""


def meta(prefix: str) -> str:
    return json.dumps({"warc-prefix": prefix})


@pytest.fixture(scope="module")
def origins() -> Iterator[tuple[RawOrigin, RawOrigin]]:
    tls = server_tls(certificate_authority(), ADDRESS)
    with RawOrigin(ADDRESS, tls=tls) as one, RawOrigin(ADDRESS, tls=tls) as other:
        for origin in (one, other):
            origin.otherwise(lambda _: (Send(CONSENT),))
            origin.script("/page", Send(PAGE))
        yield one, other


@pytest.fixture
def proxy(tmp_path: Path, redis_url: str) -> Iterator[ProxyProcess]:
    with ProxyProcess(tmp_path / "home", redis_url) as running:
        yield running


@pytest.fixture
def browser(proxy: ProxyProcess) -> Iterator[Browser]:
    flags = ["--disable-gpu", "--disable-quic", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(),
            args=[*flags, *([] if os.geteuid() else ["--no-sandbox"])],
            proxy={"server": f"http://{proxy.ready['proxy']}", "bypass": "<-loopback>"},
        )
        yield browser
        browser.close()


def test_a_script_commands_nothing(proxy: ProxyProcess, browser: Browser, origins: tuple[RawOrigin, RawOrigin]) -> None:
    one, other = origins
    page = browser.new_context(ignore_https_errors=True).new_page()
    page.goto(one.url("/page"))
    before = proxy.status()["control_refused"]

    assert page.evaluate(FETCH, [one.url("/own"), meta("stolen"), "GET"]) == 200
    assert page.evaluate(FETCH, [other.url("/others"), meta("stolen"), "GET"]) == 200, "the other site agreed"
    assert page.evaluate(FETCH, [one.url("/forged"), "", "WARCPROX_WRITE_RECORD"]) in (
        403,
        "TypeError: Failed to fetch",
    )
    assert page.evaluate(FETCH, [other.url("/forged"), "", "PUTMETA"]) in (403, "TypeError: Failed to fetch")

    assert proxy.status()["control_refused"] == before + 4
    records = proxy.records(growing=True)
    assert {record.path.name.partition("-")[0] for record in records.records} == {"default"}
    assert {record.url for record in records.kinds("response")} >= {one.url("/own"), other.url("/others")}
    assert not [record for record in records.records if record.block == b"lies"]


def test_a_plain_get_vouches_for_no_other_request(proxy: ProxyProcess) -> None:
    """A script's GET over plain http can not be told from others, so it proves nothing for anybody else (T13)."""
    tls = server_tls(certificate_authority(), ADDRESS)
    command = f"Warcprox-Meta: {json.dumps({'warc-prefix': '-'})}\r\n"
    with RawOrigin(ADDRESS) as plain, RawOrigin(ADDRESS, tls=tls) as secure:
        for origin in (plain, secure):
            origin.otherwise(lambda _: (Send(PAGE),))

        def ask(client: Client, origin: RawOrigin, path: str, *lines: str) -> None:
            target = path if origin is secure else origin.url(path)
            fields = "".join(f"{line}\r\n" for line in lines)
            asked = f"GET {target} HTTP/1.1\r\nHost: {origin.authority}\r\n{command}{fields}\r\n"
            assert client.ask(asked.encode()).status == 200

        with proxy.connect() as first:
            ask(first, plain, "/commanded")
            ask(first, plain, "/elsewhere", "Origin: http://other.test")
        with proxy.tunnel(secure.authority) as second:
            ask(second, secure, "/script", "Sec-Fetch-Dest: empty")
            ask(second, secure, "/cross", "Sec-Fetch-Dest: empty", "Origin: https://other.test")

        records = proxy.records(growing=True)
        assert records.of(plain.url("/commanded")) == []
        for url in (plain.url("/elsewhere"), secure.url("/script"), secure.url("/cross")):
            assert records.of(url, "response", "revisit"), f"{url} was archived whatever its script says"


def test_what_steers_the_browser_commands_for_its_scripts_as_well(
    proxy: ProxyProcess, browser: Browser, origins: tuple[RawOrigin, RawOrigin]
) -> None:
    """As brozzler does it: the header is on every request of the browser."""
    one, _ = origins
    context = browser.new_context(ignore_https_errors=True, extra_http_headers={"Warcprox-Meta": meta("job")})
    page = context.new_page()
    page.goto(one.url("/page"))

    assert page.evaluate(FETCH, [one.url("/xhr"), "", "GET"]) == 200
    assert page.evaluate(FETCH, [one.url("/posted"), "", "POST"]) == 200

    records = proxy.records(growing=True)
    for path in ("/page", "/xhr", "/posted"):
        (record,) = records.of(one.url(path), "response", "revisit")
        assert record.path.name.startswith("job-")
    assert proxy.status()["control_refused"] == 0
