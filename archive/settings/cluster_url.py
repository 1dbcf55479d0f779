"""The URL of a Redis Cluster: `cluster://[USER:PASSWORD@]HOST[:PORT]`, of any of its servers; `clusters://` by TLS."""

from __future__ import annotations


def is_cluster(url: str) -> bool:
    """Whether this is the URL of a cluster, not of a single Redis."""
    return url.startswith(("cluster://", "clusters://"))


def named_server(url: str) -> str:
    """The URL of the one server that a cluster's URL names, as Redis clients write it."""
    return url.replace("cluster", "redis", 1)
