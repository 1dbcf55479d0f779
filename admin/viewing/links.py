"""The admin site links to the viewer: by a ticket for one collection, and never to a host with the site's cookies."""

from __future__ import annotations

import time
from urllib.parse import urlencode, urlsplit

from admin.fleet.installation_file import read_installation
from admin.viewing.tickets import ticket_key
from archive.listener_access import is_loopback
from archive.settings.load import Settings


def viewer_origin(settings: Settings, site_host: str) -> str:
    """Return the viewer's address for a browser that knows the admin site as `site_host` (`HOST:PORT`).

    The address is empty when no viewer runs beside the site, or when none of its names is another than the site's.
    """
    own = urlsplit(f"//{site_host}").hostname or ""
    if settings.view.origin:
        return settings.view.origin if urlsplit(settings.view.origin).hostname != own else ""
    installation = read_installation(settings.home)
    listens = urlsplit(f"//{installation.addresses.get('view', '')}") if installation else None
    if listens is None or listens.hostname is None:
        return ""
    if is_loopback(listens.hostname):
        if not is_loopback(own):
            return ""
        # The cookies of a host are shared by all of its ports.
        other = "127.0.0.1" if own == "localhost" else "localhost"
        return f"http://{other}:{listens.port}"
    return f"http://{listens.netloc}" if listens.hostname != own else ""


def collection_link(settings: Settings, site_host: str, collection: str) -> str:
    """Return the address of a collection in the viewer; empty when there is none. The link works for some hours."""
    return _link(settings, site_host, collection, f"/c/{collection}/")


def page_link(settings: Settings, site_host: str, collection: str, url: str, timestamp: str) -> str:
    """Return the address of an archived page in the viewer; empty when there is none. It works for some hours."""
    if not url.startswith(("http://", "https://")):
        return ""
    return _link(settings, site_host, collection, f"/c/{collection}/play?{urlencode({'url': url, 'ts': timestamp})}")


def _link(settings: Settings, site_host: str, collection: str, path: str) -> str:
    origin = viewer_origin(settings, site_host)
    if not origin:
        return ""
    ticket = ticket_key(settings.home).issue(collection, time.time(), settings.view.link_seconds)
    return f"{origin}/s/{ticket}{path}"
