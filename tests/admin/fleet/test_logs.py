"""Log lines: text or JSON, with exchange ids, without secrets."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator

import httpx
import pytest
from support.origins.chain_site import ChainSite
from support.origins.raw_origin import RawOrigin, Send
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until

from admin.fleet.log_format import JsonFormatter, TextFormatter, redacted
from archive.settings.load import Settings

FORMATTERS = [TextFormatter(), JsonFormatter()]


@pytest.fixture
def site() -> Iterator[ChainSite]:
    with ChainSite(1) as started:
        yield started


def record(message: str, *arguments: object, **extra: object) -> logging.LogRecord:
    return logging.getLogger("proxy.fetch.fetch").makeRecord(
        "proxy.fetch.fetch", logging.INFO, __file__, 1, message, arguments, None, extra=extra
    )


def test_a_text_line_ends_with_the_exchange() -> None:
    text = TextFormatter().format(record("%s is %d", "x", 5, exchange="e1"))

    assert text.endswith("INFO proxy.fetch.fetch x is 5 exchange=e1")


def test_a_json_line_has_the_fields_of_its_record() -> None:
    line = JsonFormatter().format(record('say "%s"\nplease', "a", exchange="e1", phases={"body": 0.5}))

    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["logger"], found["message"]) == ("INFO", "proxy.fetch.fetch", 'say "a"\nplease')
    assert (found["exchange"], found["phases"]) == ("e1", {"body": 0.5})
    assert found["time"].endswith("+00:00")


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["text", "json"])
@pytest.mark.parametrize(
    "text",
    [
        "fetching http://user:5ecretWord@site.test/",
        "Proxy-Authorization: Basic NWVjcmV0V29yZA==5ecretWord",
        "{'Authorization': 'Bearer 5ecretWord'}",
        "http://site.test/?a=1&access_token=5ecretWord&b=2",
        "http://site.test/login?password=5ecretWord#top",
        "Redis at redis://:5ecretWord@10.0.0.1:6379/0 failed",
    ],
)
def test_secrets_are_in_no_line(formatter: logging.Formatter, text: str) -> None:
    line = formatter.format(record("%s", text, about={"url": text}))

    assert "5ecretWord" not in line
    assert "***" in line


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["text", "json"])
def test_secrets_are_in_no_traceback(formatter: logging.Formatter) -> None:
    try:
        raise ValueError("http://user:5ecretWord@site.test/")
    except ValueError:
        failed = record("it failed")
        failed.exc_info = sys.exc_info()

    line = formatter.format(failed)

    assert "5ecretWord" not in line
    assert "ValueError" in line


@pytest.mark.parametrize(
    "text", ["http://site.test/a@b?q=1", "mail to a@b.test", "http://site.test/?page=2&tokenless", "at 10:00 - 5 s"]
)
def test_text_without_secrets_is_not_changed(text: str) -> None:
    assert redacted(text) == text


@pytest.mark.parametrize("text", ["http://site.test/" + "a." * 500_000, "?" + "token" * 200_000])
def test_a_text_is_passed_over_once(text: str) -> None:
    """A crawled site chooses the URL in a line: with time that grows by the square, these would take hours."""
    assert redacted(text) == text


def test_the_lines_about_a_failed_exchange_have_its_id(settings: Settings) -> None:
    """It can't be understood, is slow, and what came of it can't be kept: every line of that has one id."""
    settings.collection("default").mkdir(parents=True)
    settings.archive_dir("default").touch()
    environment = {"GHOSTFLEET_LOGS__FORMAT": "json", "GHOSTFLEET_PROXY__SLOW_SECONDS": "0.000001"}
    log = settings.home / "logs" / "proxy-0.log"
    with RawOrigin("127.0.1.73") as origin:
        origin.script("/nonsense", Send(b"HTTP/1.1 nonsense\r\n\r\n"))
        with Command("proxy", "--port", "0", "--allow-private", home=settings.home, **environment) as fleet:
            address = fleet.line(ready=True)["proxy"]
            with httpx.Client(proxy=f"http://{address}", trust_env=False, timeout=30) as client:
                assert client.get(origin.url("/nonsense")).status_code == 502
            until(lambda: "slow: " in log.read_text("utf-8"), what="the slow exchange in the log")
            fleet.signal(15)
            fleet.ended()

    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    about = [line for line in lines if origin.url("/nonsense") in line["message"]]
    assert {line["logger"] for line in about} == {
        "proxy.fetch.ending",
        "proxy.recording.recorder",
        "proxy.fetch.progress",
    }
    assert len({line["exchange"] for line in about}) == 1


def test_a_fleet_logs_in_json_and_its_slow_exchanges_with_their_id(settings: Settings, site: ChainSite) -> None:
    environment = {"GHOSTFLEET_LOGS__FORMAT": "json", "GHOSTFLEET_PROXY__SLOW_SECONDS": "0.000001"}
    with Command("proxy", "--port", "0", "--allow-private", home=settings.home, **environment) as fleet:
        proxy = fleet.line(ready=True)["proxy"]
        with httpx.Client(proxy=f"http://{proxy}", trust_env=False, timeout=30) as client:
            client.get(f"{site.url}?session_id=5ecretWord")
        log = settings.home / "logs" / "proxy-0.log"
        until(lambda: "slow: " in log.read_text("utf-8"), what="the slow exchange in the log")
        fleet.signal(15)
        assert fleet.ended() == 0

    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    (slow,) = [line for line in lines if line["message"].startswith("slow: ")]
    assert len(slow["exchange"]) == 32
    assert set(slow["phases"]) == {"connect", "first_byte", "body", "keep"}
    assert slow["seconds"] == pytest.approx(sum(slow["phases"].values()), abs=0.01)
    assert "5ecretWord" not in log.read_text("utf-8")
