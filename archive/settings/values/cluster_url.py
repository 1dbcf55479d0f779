"""A Redis Cluster has a URL of the form `cluster://[USER:PASSWORD@]HOST[:PORT]` that names any of its servers;
`clusters://` uses TLS.
"""

from __future__ import annotations


def is_cluster(url: str) -> bool:
    """Return whether this is the URL of a cluster, not of a single Redis."""
    return url.startswith(("cluster://", "clusters://"))


def named_server(url: str) -> str:
    """Return the URL of the one server that a cluster's URL names, as Redis clients write it."""
    return url.replace("cluster", "redis", 1)
