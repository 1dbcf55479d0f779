"""Replay can give an archived document a script: the clock of its capture, and a banner. Both are off by default.

The script stands at the beginning of the document's head, so that it runs before all scripts of the page. A policy of
the page that forbids inline scripts (Content-Security-Policy) gets the hash of this one. The record is never changed.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import Final

from archive.capture import Capture
from archive.dates import iso_second
from archive.page_clock import clock_script
from proxy.protocol.http1 import Field, ResponseHead
from proxy.replay.edits import Edit

_PLACE: Final = re.compile(rb"<head(?:\s[^<>]{0,1000})?>", re.IGNORECASE)
_START: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,100}(?:<!doctype[^<>]{0,1000}>)?", re.IGNORECASE)
_SEARCHED: Final = 65_536
_OTHER_ENCODINGS: Final = (b"\xff\xfe", b"\xfe\xff")
"""Beginnings of UTF-16 texts, into which no ASCII fits."""
HTML: Final = frozenset(("text/html", "application/xhtml+xml"))
_BANNER: Final = """\
(() => {
  if (window.top !== window) return;
  const show = () => {
    const [host, bar, close] = ["div", "div", "button"].map((name) => document.createElement(name));
    const style = (element, rules) => Object.entries(rules).forEach(([name, value]) =>
      element.style.setProperty(name, value, "important"));
    style(host, {all: "initial", position: "fixed", "z-index": "2147483647", left: "0", right: "0", bottom: "0"});
    style(bar, {font: "14px/1.5 system-ui, sans-serif", padding: "4px 12px", background: "#1d2733", color: "#fff"});
    style(close, {float: "right"});
    bar.textContent = TEXT;
    close.textContent = "Close";
    close.addEventListener("click", () => host.remove());
    bar.append(close);
    host.attachShadow({mode: "closed"}).append(bar);
    document.documentElement.append(host);
  };
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", show) : show();
})();"""


class PageScripts:
    """Page scripts are the scripts that documents get."""

    def __init__(self, *, clock: bool, banner: bool) -> None:
        self._clock = clock
        self._banner = banner

    def of(self, capture: Capture) -> str:
        """Return the script for the capture of a document; empty when it gets none."""
        texts = [clock_script(capture.date)] if self._clock else []
        if self._banner:
            text = f"Archived on {iso_second(capture.date)[:10]} in the collection {capture.collection}"
            texts.append(_BANNER.replace("TEXT", json.dumps(text)))
        return "\n".join(texts)


def script_edit(script: str) -> Edit:
    """Return the edit that puts the script at the beginning of a document's head."""
    element = b"<script>" + script.encode("ascii") + b"</script>"

    def edit(content: bytes) -> bytes | None:
        if content.startswith(_OTHER_ENCODINGS):
            return None
        found = _PLACE.search(content, 0, _SEARCHED)
        if found is None and content.lstrip()[:5] == b"<?xml":
            return None
        at = (found or _START.match(content) or re.match(b"", content)).end()  # type: ignore[union-attr]
        return content[:at] + element + content[at:]

    return edit


def allowing(head: ResponseHead, script: str) -> ResponseHead:
    """Return the head with policies that let the script run."""
    digest = b64encode(sha256(script.encode("ascii")).digest()).decode()
    return replace(head, fields=tuple(_allowing(field, f"'sha256-{digest}'") for field in head.fields))


def _allowing(field: Field, source: str) -> Field:
    name, value, line = field
    if name != b"content-security-policy":
        return field
    policies = (_with_source(policy, source) for policy in value.decode("latin-1").split(","))
    changed = ",".join(policies).encode("latin-1")
    return name, changed, line if changed == value else b"Content-Security-Policy: " + changed + b"\r\n"


def _with_source(policy: str, source: str) -> str:
    directives = [part.split() for part in policy.split(";") if part.strip()]
    by_name = {words[0].lower(): words for words in reversed(directives)}
    deciding = next(
        (by_name[name] for name in ("script-src-elem", "script-src", "default-src") if name in by_name), None
    )
    if deciding is None:
        return policy
    sources = [word.lower() for word in deciding[1:]]
    if "'unsafe-inline'" in sources and not any(word.startswith(("'nonce-", "'sha")) for word in sources):
        return policy
    kept = [word for word in deciding[1:] if word.lower() != "'none'"]
    if deciding[0].lower() == "default-src":
        directives.append(["script-src", *kept, source])
    else:
        deciding[1:] = [*kept, source]
    return "; ".join(" ".join(words) for words in directives)
