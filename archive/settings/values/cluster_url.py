"""A Redis Cluster has a URL of the form `cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]` that names one or more
of its servers; `clusters://` uses TLS. The first server that answers tells of all others.
"""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = re.compile(r"(\w+://(?:[^/?#]*@)?)([^/?#]*)(.*)", re.DOTALL)


def is_cluster(url: str) -> bool:
    """Return whether this is the URL of a cluster, not of a single Redis."""
    return url.startswith(("cluster://", "clusters://"))


def named_servers(url: str) -> list[str]:
    """Return the URL of each server that a cluster's URL names, as Redis clients write it."""
    parts = _PARTS.fullmatch(url.replace("cluster", "redis", 1))
    assert parts, "is_cluster is True"
    before, servers, after = parts.groups()
    return [f"{before}{server}{after}" for server in servers.split(",")]
