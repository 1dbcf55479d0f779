"""Archived pages run on host names of their own, one for each collection, so that none of them reads another.

A browser keeps the storage, the workers and the documents of one origin apart from those of all others. The bar above
an archived page has another host name than the page in the frame. On the reader's own machine these are
`view.LABEL.localhost` and `LABEL.localhost`: browsers resolve both without DNS, and count both as one site, so that the
frame may have a service worker where browsers refuse one to frames of other sites. Elsewhere `view.origin` and
`view.collection_origin` say them. Without such names, no archived script runs. Pure.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from base64 import b32encode
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from archive.settings.load import Settings

ANY: Final = "*"
_PLAIN: Final = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9]))*")
_DIGEST: Final = 26
_HASHED: Final = re.compile(rf".*-[a-z2-7]{{{_DIGEST}}}")
_LONGEST_LABEL: Final = 63
_LONGEST_BEGINNING: Final = 30
_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LOCAL: Final = "localhost"
_LOCAL_BAR: Final = "view"


def host_label(collection: str) -> str:
    """Return the label of a host name that stands for the collection alone.

    A name that is a label in lower case stands for itself. Another name has capital letters, dots or underscores, is
    too long, or looks like a made label; its label ends with 130 bits of its digest.
    """
    is_label = _PLAIN.fullmatch(collection) is not None and len(collection) <= _LONGEST_LABEL
    if is_label and not _HASHED.fullmatch(collection):
        return collection
    beginning = re.sub("[^a-z0-9]+", "-", collection.lower())[:_LONGEST_BEGINNING].strip("-")
    digest = b32encode(hashlib.sha256(collection.encode()).digest()).decode().lower()[:_DIGEST]
    return f"{beginning}-{digest}"


@dataclass(frozen=True, slots=True)
class ArchivedHost:
    """A host name on which archived pages run."""

    label: str | None
    """The label of its one collection; None where all collections share the host name."""

    def has(self, collection: str) -> bool:
        """Return whether the pages of the collection run on this host name."""
        return self.label is None or self.label == host_label(collection)


class Origins:
    """Origins are the host names of the viewer that have archived pages; they tell where a collection's pages run."""

    def __init__(self, settings: Settings) -> None:
        self._own = settings.view.origin
        self._template = settings.view.collection_origin
        self._ancestors = settings.view.frame_ancestors

    def archived_host(self, host: str) -> ArchivedHost | None:
        """Return the part of a `Host` header that archived pages have; None for the viewer's own pages."""
        template = self._template_for(host)
        first, _, rest = template.partition(ANY)
        if not template:
            return None
        if not rest:
            return ArchivedHost(None) if _name(host) == urlsplit(template).hostname else None
        label, dot, parent = _name(host).partition(".")
        is_below = f"{dot}{parent}" == (urlsplit(f"{first}x{rest}").hostname or "")[1:]
        return ArchivedHost(label) if is_below and _LABEL.fullmatch(label) else None

    def of_collection(self, collection: str, host: str) -> str:
        """Return the origin of a collection's pages for a reader who knows the viewer as `host`; empty without one."""
        return self._template_for(host).replace(ANY, host_label(collection), 1)

    def frames_of(self, host: str) -> str:
        """Return the sources of a content security policy that may show the archived pages of `host` in a frame."""
        return " ".join((self._own or f"http://{_LOCAL_BAR}.{_name(host)}{_port(host)}", *self._ancestors))

    def bar_origin(self, collection: str, host: str) -> str:
        """Return where the bar of a collection's pages is for a reader who came to `host`; empty when it is there."""
        if self._own or not self._template_for(host):
            return ""
        name = f"{_LOCAL_BAR}.{host_label(collection)}.{_LOCAL}"
        return "" if name == _name(host) else f"http://{name}{_port(host)}"

    @property
    def ancestors(self) -> str:
        """Return the sources of a content security policy that may show an archived page with the viewer's bar."""
        return " ".join(("'self'", *self._ancestors))

    @property
    def is_embeddable(self) -> bool:
        """Return whether pages of other sites may show archived pages."""
        return bool(self._ancestors)

    def _template_for(self, host: str) -> str:
        if self._template or self._own:
            return self._template
        name = _name(host)
        if name == _LOCAL or name.endswith(f".{_LOCAL}") or _is_loopback_address(name):
            return f"http://{ANY}.{_LOCAL}{_port(host)}"
        return ""


def _name(host: str) -> str:
    return (_parts(host)[0]).rstrip(".")


def _port(host: str) -> str:
    return _parts(host)[1]


def _parts(host: str) -> tuple[str, str]:
    """Return the name of a `Host` header in lower case, and its port with the colon."""
    try:
        parts = urlsplit(f"//{host.strip()}")
        return parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return "", ""


def _is_loopback_address(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
