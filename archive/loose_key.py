"""The loose key of a URL ignores what most readers ignore: case, `www.`, and the order of the query.

ReplayWeb.page computes the same key, and the rules of pywb's access lists are written with it. The archive's own
key (`archive.url.key`) is stricter.
"""

from __future__ import annotations

import re
from typing import Final

from archive import url as urls

_WWW: Final = re.compile(r"^www\d*\.")
_AUTHORITY: Final = re.compile(r"(\[.*\]|[^:]*)(:\d+)?")


def loose_key(url: str) -> str:
    """Return the key of a URL, such as `org,example)/a?b=c`; the URL itself when it is none of http or https."""
    try:
        address = urls.canonical(url)
    except urls.UrlError:
        return urls.key(url)
    rest = address.lower().partition("://")[2]
    cut = min((at for at in map(rest.find, "/?") if at >= 0), default=len(rest))
    found = _AUTHORITY.fullmatch(_WWW.sub("", rest[:cut]) or rest[:cut])
    host, port = (found[1], found[2] or "") if found else (rest[:cut], "")
    path, _, query = rest[cut:].partition("?")
    parts = f"?{'&'.join(sorted(query.split('&')))}" if query else ""
    return f"{','.join(reversed(host.split('.')))}{port}){path}{parts}"


def is_border(key: str, length: int) -> bool:
    """Return whether a site may end here within a key: `org,example` is no beginning of `org,example2)/`.

    Behind the `)`, a site may end anywhere.
    """
    beginning, following = key[:length], key[length : length + 1]
    return not following or following in "),:" or not beginning or beginning[-1] in ",:" or ")" in beginning
