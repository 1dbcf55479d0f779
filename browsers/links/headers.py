"""This module finds links in response headers: Location, Refresh and Link, but not Content-Location. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from browsers.links.collector import LinkCollector

REDIRECTS: Final = frozenset((300, 301, 302, 303, 305, 307, 308))
FOLLOWED: Final = frozenset((301, 302, 303, 307, 308))
"""Redirects that browsers follow when there is a Location."""
LOCATION: Final = "header:location"
"""The context of a link in the field Location."""
EMBEDDED_RELATIONS: Final = frozenset(
    (
        "stylesheet",
        "icon",
        "apple-touch-icon",
        "apple-touch-icon-precomposed",
        "apple-touch-startup-image",
        "fluid-icon",
        "mask-icon",
        "preload",
        "modulepreload",
        "prefetch",
        "prerender",
        "manifest",
        "import",
        "stylesheet/less",
        "image_src",
        "video_src",
        "audio_src",
        "thumbnail",
        "compression-dictionary",
        "serviceworker",
    )
)
"""`rel` values of parts of the page. The target of any other value is a page."""
IGNORED_RELATIONS: Final = frozenset(("dns-prefetch", "preconnect", "profile", "pingback"))
"""`rel` values of a host, a vocabulary or an interface, and not of a document."""

_CHARSET: Final = re.compile(r"charset\s*+=\s*+[\"']?+\s*+([^\s\"';,]{1,40})", re.I)
_REFRESH: Final = re.compile(r"^\s*[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?(.*)$", re.I | re.S)
_LINK: Final = re.compile(r"<([^<>]*)>((?:[^,\"<]|\"[^\"]*\")*)")
_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.I)


def collect(found: LinkCollector, status: int, response: Mapping[str, str]) -> None:
    """Add the links of a response's headers; `response` has lower-case names."""
    if status in REDIRECTS:
        found.add(_as_utf8(response.get("location")), "R", LOCATION)
    if refresh := response.get("refresh"):
        found.add(refresh_target(refresh), "R", "header:refresh")
    for target, parameters in _LINK.findall(response.get("link", "")):
        match = _REL.search(parameters)
        collect_relation(found, target, (match[1] or match[2]) if match else "", "header:link")


def collect_relation(found: LinkCollector, target: str | None, relations: str, context: str) -> None:
    """Add a typed link (RFC 8288): part of the page, a page of its own, or nothing to fetch."""
    names = frozenset(relations.lower().split())
    if names & EMBEDDED_RELATIONS:
        found.add(target, "E", context)
    elif "sitemap" in names:
        found.add(target, "M", context)
    elif not names or names - IGNORED_RELATIONS:
        found.add(target, "L", context)


def refresh_target(value: str) -> str | None:
    """Return the URL in a Refresh header or meta element, such as `5; url='/next'`; None when it only reloads."""
    match = _REFRESH.match(value)
    text = match[1].strip() if match else ""
    if text[:1] in ("'", '"'):
        text = text[1:].partition(text[0])[0]
    return text or None


def charset(content_type: str) -> str | None:
    """Return the charset parameter of a Content-Type, None without one. The last one of a repeated type counts."""
    found = map(_CHARSET.search, reversed(content_type.split(",")))
    return next((match[1] for match in found if match), None)


def _as_utf8(location: str | None) -> str | None:
    """Return a Location as UTF-8, as browsers read it. HTTP libraries read header bytes as Latin-1."""
    if location is None or location.isascii():
        return location
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return location
