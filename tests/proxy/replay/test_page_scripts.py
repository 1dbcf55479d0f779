"""The clock and the banner of replayed documents: where their script stands, and that Chromium runs it."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import sync_playwright
from support.archive.exchanges import exchange, response
from support.archive.exchanges import keep as keep_one
from support.processes.machine_needs import chromium
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess

from archive.dates import parse_date
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from proxy.protocol.http1 import parse_response
from proxy.replay.page_scripts import allowing, script_edit

DATE = parse_date("2020-01-01T12:34:56Z")
SCRIPT = "<script>x()</script>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<!doctype html><html><head lang=en><title>", f"<!doctype html><html><head lang=en>{SCRIPT}<title>"),
        ("<!DOCTYPE html>\n<title>", f"<!DOCTYPE html>{SCRIPT}\n<title>"),
        ("<p>no head", f"{SCRIPT}<p>no head"),
        ("<header>no head", f"{SCRIPT}<header>no head"),
        ("", SCRIPT),
        ('<?xml version="1.0"?><html><head><title/>', f'<?xml version="1.0"?><html><head>{SCRIPT}<title/>'),
        ('<?xml version="1.0"?><svg/>', None),
    ],
)
def test_the_script_stands_first_in_the_head(before: str, after: str | None) -> None:
    found = script_edit("x()")(before.encode())
    assert (found.decode() if found is not None else None) == after


def test_a_utf16_text_stays_as_it_is() -> None:
    assert script_edit("x()")("<head>".encode("utf-16")) is None


@given(st.binary(max_size=200))
def test_nothing_else_changes(content: bytes) -> None:
    found = script_edit("x()")(content)
    assert found is None or found.replace(SCRIPT.encode(), b"", 1) == content


def test_the_worst_beginnings_are_searched_within_bounds() -> None:
    for piece in (b"<head ", b"<!doctype ", b" ", b"<"):
        content = piece * (4_000_000 // len(piece))
        found = script_edit("x()")(content)
        assert found is not None
        assert len(found) == len(content) + len(SCRIPT)


@pytest.mark.parametrize(
    ("policy", "changed"),
    [
        ("default-src 'none'", "default-src 'none'; script-src HASH"),
        ("default-src 'self'; img-src *", "default-src 'self'; img-src *; script-src 'self' HASH"),
        ("script-src 'self' 'nonce-a'; default-src 'none'", "script-src 'self' 'nonce-a' HASH; default-src 'none'"),
        ("script-src 'none'", "script-src HASH"),
        ("script-src 'unsafe-inline'", "script-src 'unsafe-inline'"),
        ("Script-Src-Elem a.test; script-src b.test", "Script-Src-Elem a.test HASH; script-src b.test"),
        ("img-src 'self'", "img-src 'self'"),
        ("default-src 'none', script-src a.test", "default-src 'none'; script-src HASH,script-src a.test HASH"),
    ],
)
def test_policies_of_pages_allow_the_script(policy: str, changed: str) -> None:
    head = parse_response(f"HTTP/1.1 200 OK\r\nContent-Security-Policy: {policy}\r\n\r\n".encode())
    found = allowing(head, "x()").get(b"content-security-policy")
    assert found is not None
    hash_of_it = base64.b64encode(hashlib.sha256(b"x()").digest()).decode()
    assert found.decode().replace(f"'sha256-{hash_of_it}'", "HASH") == changed


@pytest.mark.browser
@pytest.mark.timeout(240)
def test_a_page_has_the_clock_of_its_capture(tmp_path: Path, proxy_redis: Any) -> None:
    """The page has a strict policy, and asks for an address with the hour; similar addresses are no answers."""
    settings = {"proxy.replay_clock": True, "proxy.replay_banner": True, "proxy.replay_similar": False}
    code = (
        b"fetch('/hour/' + new Date().toISOString().slice(0, 13)).then(answer => answer.text()).then(text => {"
        b"document.title = [text, new Date().getFullYear(), Math.random()].join(' ')})"
    )
    policy = "Content-Security-Policy: default-src 'none'; script-src 'self'; connect-src 'self'"
    with ProxyProcess(tmp_path / "home", proxy_redis.url, settings) as proxy:
        writer = WarcWriter(proxy.settings, "news")
        kept = [
            keep_one(writer, exchange(path, answer, started=DATE))
            for path, answer in (
                ("/", response(b"<!doctype html><title>empty</title><body><script src=/app.js></script>", policy)),
                ("/app.js", response(code, mime="text/javascript")),
                ("/hour/2020-01-01T12", response(b"the hour", mime="text/plain")),
            )
        ]
        writer.close()
        with Captures(proxy.settings.database_url) as captures:
            captures.add(kept)
        session = proxy.session(collection="news", mode="replay", listen=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium(),
                args=["--no-sandbox"],
                proxy={"server": f"http://{session['host']}:{session['port']}"},
            )
            titles = []
            for _ in range(2):
                page = browser.new_page()
                answer = page.goto("http://example.org/")
                # The page's policy forbids what Playwright's functions need.
                until(lambda page=page: page.title() != "empty", what="the page's answer")  # type: ignore[misc]
                page.locator("html > div").wait_for(state="attached")
                titles.append(page.title())
                assert answer is not None
                assert answer.headers["ghostfleet-replay"] == "edited"
            browser.close()
    assert titles[0].startswith("the hour 2020 0.")
    assert titles[0] == titles[1], "random numbers are the same"
