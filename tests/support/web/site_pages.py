"""Pages of the admin site for tests: forms as a person fills them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlencode

import httpx
from selectolax.lexbor import LexborHTMLParser, LexborNode

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


def press(client: httpx.Client, path: str, label: str, **typed: str) -> httpx.Response:
    """Load a page, type these values into the form that has the button, and press the button, as a browser does."""
    buttons = LexborHTMLParser(client.get(path).text).css("form button")
    button = next((each for each in buttons if each.text().strip() == label), None)
    assert button is not None, f"{path} has no button {label}"
    form = button.parent
    while form is not None and form.tag != "form":
        form = form.parent
    assert form is not None
    sent = list(_sent_fields(form, button, typed))
    assert typed.keys() <= {name for name, _ in sent}, f"the form of {label} has other fields"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return client.post(form.attributes.get("action") or path, content=urlencode(sent), headers=headers)


def _sent_fields(form: LexborNode, pressed: LexborNode, typed: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the fields that a browser sends, in the order of the form; no file is chosen."""
    for each in form.css("input[name]:not([type=file]), textarea[name], select[name], button[name]"):
        name, is_box = each.attributes["name"] or "", each.attributes.get("type") == "checkbox"
        if each.tag == "button":
            if each == pressed:
                yield name, each.attributes.get("value") or ""
        elif name in typed:
            yield name, typed[name]
        elif each.tag == "textarea":
            yield name, each.text()
        elif each.tag == "select":
            first = [] if "multiple" in each.attributes else each.css("option")[:1]
            for option in each.css("option[selected]") or first:
                yield name, option.attributes.get("value", option.text()) or ""
        elif not is_box or "checked" in each.attributes:
            yield name, each.attributes.get("value", "on" if is_box else "") or ""
