"""admin/viewing/archived_answer.py: which archived headers reach a browser, and under which name."""

from __future__ import annotations

import pytest

from admin.viewing.archived_answer import archived_answer
from proxy.protocol.http1 import parse_response

PREFIX = "/w/news/"
URL = "http://example.org/a/page"


def headers(*lines: str, status: str = "200 OK") -> dict[str, str]:
    """The headers of the answer for these archived ones."""
    raw = "\r\n".join((f"HTTP/1.1 {status}", *lines, "", "")).encode("latin-1")
    answer = archived_answer(parse_response(raw), URL, PREFIX, "20261121081500")
    assert len({name for name, _ in answer.headers}) == len(answer.headers)
    return {name.decode(): value.decode("latin-1") for name, value in answer.headers}


def test_cookies_go_to_the_page_alone() -> None:
    found = headers("Set-Cookie: a=1; Path=/", "Set-Cookie: b=2; HttpOnly")
    assert found["x-proxy-set-cookie"] == "a=1; Path=/, b=2; HttpOnly"
    assert "set-cookie" not in found


@pytest.mark.parametrize(
    "name",
    [
        *("Clear-Site-Data", "Strict-Transport-Security", "Service-Worker-Allowed", "NEL", "Report-To", "Alt-Svc"),
        *("Refresh", "Content-Security-Policy", "X-Frame-Options", "WWW-Authenticate", "Link", "Permissions-Policy"),
        *("Cross-Origin-Opener-Policy", "Reporting-Endpoints", "Accept-CH", "Speculation-Rules", "Vary"),
    ],
)
def test_a_header_that_commands_the_browser_is_renamed(name: str) -> None:
    found = headers(f"{name}: archived")
    assert found[f"x-archive-orig-{name.lower()}"] == "archived"
    assert found.get(name.lower()) != "archived"


def test_what_the_viewer_says_itself_can_not_be_archived() -> None:
    found = headers("Cache-Control: max-age=9", "Cross-Origin-Resource-Policy: cross-origin")
    assert found["cache-control"] == "no-store"
    assert found["cross-origin-resource-policy"] == "same-origin"


def test_the_place_of_what_was_made_is_told_to_the_script_that_asked() -> None:
    assert headers("Location: /jobs/9", status="202 Accepted")["location"] == "/jobs/9"
    assert headers("Location: mailto:x@example.org", status="302 Found").get("location") is None


def test_an_archived_response_can_not_command_the_players_worker() -> None:
    found = headers("X-Proxy-Set-Cookie: evil=1", "X-Orig-Location: /x", "X-Redirect-Status: 301", "X-Wabac-A: 1")
    assert set(found) == {"cache-control", "cross-origin-resource-policy"}


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/moved", "http://example.org/moved"),
        ("moved?q=1", "http://example.org/a/moved?q=1"),
        ("//other.test/x", "http://other.test/x"),
        ("https://other.test/ä b", "https://other.test/%C3%A4%20b"),
        ("https://other.test/%2F#there", "https://other.test/%2F#there"),
    ],
)
def test_a_redirect_leads_to_the_address_of_its_target(location: str, expected: str) -> None:
    found = headers(f"Location: {location}".encode().decode("latin-1"), status="302 Found")
    assert found["location"] == f"/w/news/20261121081500id_/{expected}"


@pytest.mark.parametrize("location", ["javascript:alert(1)", "data:text/html,x", "http://[", "ftp://x/"])
def test_a_redirect_to_no_web_page_leads_nowhere(location: str) -> None:
    assert "location" not in headers(f"Location: {location}", status="301 Moved")


@pytest.mark.parametrize(("status", "expected"), [("999 Denied", 599), ("600 X", 599), ("599 X", 599), ("404 X", 404)])
def test_a_status_that_no_worker_can_answer_becomes_one_that_it_can(status: str, expected: int) -> None:
    answer = archived_answer(parse_response(f"HTTP/1.1 {status}\r\n\r\n".encode()), URL, PREFIX, "")
    assert answer.status == expected
    named = dict(answer.headers).get(b"ghostfleet-archived-status")
    assert named == (status[:3].encode() if int(status[:3]) > 599 else None)


def test_odd_headers_break_nothing() -> None:
    found = headers("Bad Name: x", "X-Odd: a\x01b", ": none", "X-Long: " + "y" * 20_000, "X-Latin: \xe4")
    assert found["x-odd"] == "a b"
    assert found["x-latin"] == "\xe4"
    assert "bad name" not in found
