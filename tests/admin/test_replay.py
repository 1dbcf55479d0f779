"""`ghostfleet replay` and `ghostfleet open`: a crawled site, looked at after it is gone."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx
import pytest
from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import Command

from admin.replay import Window, first_page
from archive.settings.load import Settings, load
from browsers.engines.chromium.trust import trusted_keys


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, str]:
    """A home with a collection called garden, and the site's first page; the site is gone."""
    home = tmp_path_factory.mktemp("crawled")
    flags = ("--collection", "garden", "--allow-private", "--delay", "0", "--json", "--limit-pages", "2")
    with ChainSite(2) as site:
        with Command("crawl", site.url, *flags, home=home) as crawl:
            assert crawl.ended() == 0
        url = site.url
    return load({"home": str(home)}, environment={}), url


def test_a_collection_is_served_with_the_site_gone(crawled: tuple[Settings, str]) -> None:
    settings, url = crawled
    with Command("replay", "garden", "--port", "0", home=settings.home) as replay:
        ready = replay.line(ready=True, collection="garden")
        with httpx.Client(proxy=f"http://{ready['proxy']}", trust_env=False) as client:
            assert "page 0" in client.get(url).text
            assert client.get(f"{url}nothing").status_code == 404
        replay.signal(signal.SIGINT)
        assert replay.ended() == 0


def test_a_date_gets_a_port_of_its_own(crawled: tuple[Settings, str]) -> None:
    settings, url = crawled
    with Command("replay", "garden", "--port", "0", "--datetime", "2020", home=settings.home) as replay:
        proxy = replay.line(ready=True)["proxy"]
        assert "page 0" in httpx.get(url, proxy=f"http://{proxy}", trust_env=False).text, "the nearest capture"


def test_an_invalid_date_is_one_line(crawled: tuple[Settings, str]) -> None:
    settings, _ = crawled
    with Command("replay", "garden", "--port", "0", "--datetime", "yesterday", home=settings.home) as replay:
        assert replay.ended() == 2
    assert "'yesterday'" in replay.stderr
    assert "Traceback" not in replay.stderr


def test_open_without_a_display_is_one_line(crawled: tuple[Settings, str]) -> None:
    settings, _ = crawled
    with Command("open", "garden", home=settings.home, DISPLAY="", WAYLAND_DISPLAY="") as opened:
        assert opened.ended() == 2
    assert "no window can be opened: DISPLAY and WAYLAND_DISPLAY are not set; use `ghostfleet replay`" in opened.stderr


def test_open_starts_the_browser_at_the_first_seed_and_ends_with_it(
    crawled: tuple[Settings, str], tmp_path: Path
) -> None:
    settings, url = crawled
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/seen\n')
    browser.chmod(0o755)
    environment = {"DISPLAY": ":99", "GHOSTFLEET_BROWSERS__EXECUTABLE": str(browser)}
    with Command("open", "garden", home=settings.home, **environment) as opened:
        assert opened.ended() == 0, opened.stderr
    started_with = (tmp_path / "seen").read_text().splitlines()
    assert started_with[-1] == url
    assert any(flag.startswith("--proxy-server=http://127.0.0.1:") for flag in started_with)


def test_the_instructions_name_the_proxy_and_the_browser_options(crawled: tuple[Settings, str]) -> None:
    settings, _ = crawled
    trusted = trusted_keys(settings.home, "127.0.0.1:8000")
    window = Window("garden", "127.0.0.1:8000", settings.home / "ca" / "ca.pem", trusted)
    text = "\n".join(window.lines())
    assert "proxy 127.0.0.1:8000" in text
    assert f"trust {settings.home}/ca/ca.pem" in text
    leaf = (settings.home / "ca" / "leaf.spki").read_text().strip()
    assert f"--ignore-certificate-errors-spki-list={leaf}," in text, "the key of the certificates that are shown"


def test_the_first_page_of_a_collection_is_its_latest_jobs_first_seed(crawled: tuple[Settings, str]) -> None:
    settings, url = crawled
    assert first_page(settings, "garden") == url
    assert first_page(settings, "roses") is None
