"""Pages of the admin site for tests: forms as a person fills them."""

from __future__ import annotations

import html
import re
from typing import Final

import httpx

from support.web.site_server import send_form

HOSTILE: Final = '"><script>alert(1)</script>\u202e'
LONG: Final = "x" * 10_000
NUL: Final = "a\0b"


def shown_value(text: str, name: str) -> str:
    """Return the value of an input of a page, still escaped."""
    found = re.search(rf'<input[^>]*name="{re.escape(name)}"[^>]*value="([^"]*)"', text)
    assert found is not None, f"the page has no input {name}"
    return found[1]


def edition_of(client: httpx.Client, path: str) -> str:
    """Return the edition that the form of a page has."""
    return shown_value(client.get(path).text, "edition")


def csrf_of(client: httpx.Client) -> str:
    """Return the token of the session's forms; each page has one in the form for logging out."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get("/").text)
    assert found is not None
    return found[1]


def refused(client: httpx.Client, path: str, *said: str, to: str = "", **values: str) -> httpx.Response:
    """Send a form that can't be used: the page is shown again, says why, and has no text that became a tag."""
    answer = send_form(client, path, to, **values)
    assert answer.status_code == 422, (path, answer.status_code, values)
    assert "<script>alert" not in answer.text, path
    assert 'role="alert"' in answer.text, path
    text = html.unescape(answer.text)
    for each in said:
        assert each in text, (path, each)
    return answer


def saved(client: httpx.Client, path: str, to: str = "", **values: str) -> str:
    """Send a form that is carried out, and return the address to which it leads."""
    answer = send_form(client, path, to, **values)
    assert answer.status_code == 303, (path, answer.status_code, re.findall(r'class="problem">[^<]+', answer.text))
    return str(answer.headers["Location"])
