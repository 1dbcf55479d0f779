"""Whether a Redis that is not our own is there, and set up to keep a crawl."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import redis
from redis.exceptions import RedisClusterException

from archive.cluster_url import is_cluster
from frontier.embedded import RedisProblem
from frontier.store import connect


def check_redis(url: str, *, timeout_seconds: float = 5) -> list[str]:
    """Warnings about a Redis, or the servers of a cluster, that would not keep a crawl; empty when all is well.

    Raises RedisProblem when it can't be reached, refuses us, or is one of several servers of a cluster and not named
    as such.
    """
    where = url.rpartition("@")[2]
    try:
        with closing(connect(url, timeout_seconds)) as client:
            if is_cluster(url):
                servers = [(node.name, node.redis_connection) for node in client.get_primaries()]
                return [warning for name, server in servers for warning in _warnings(server.info(), name)]
            info = client.info()
            if info.get("cluster_enabled") and int(client.cluster("info").get("cluster_size", 0)) > 1:
                raise RedisProblem(f"Redis at {where} is part of a cluster; set redis.url to cluster://HOST:PORT")
            return _warnings(info, where)
    except redis.AuthenticationError as error:
        raise RedisProblem(
            f"Redis at {where} wants other credentials ({error}); give them in redis.url, as redis://USER:PASSWORD@HOST"
        ) from error
    except (redis.RedisError, RedisClusterException, ValueError) as error:
        reason = " ".join(str(error).split())
        raise RedisProblem(
            f"Redis at {where} can't be used: {reason}; start it, correct redis.url, or leave redis.url empty"
        ) from error


def _warnings(info: Any, where: str) -> list[str]:
    """`info` as INFO says it."""
    found = []
    if not info.get("aof_enabled"):
        found.append(f"Redis at {where} has appendonly no: a restart would lose the frontier; set appendonly yes")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        found.append(f"Redis at {where} has maxmemory-policy {policy}: it may drop queued URLs; set noeviction")
    return found
