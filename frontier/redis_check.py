"""This module checks whether the Redis of `redis.url` can be reached and is set up to keep a crawl."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import redis
from redis.exceptions import RedisClusterException

from archive.settings.values.cluster_url import is_cluster
from archive.settings.values.redacted import without_secrets
from frontier.private_redis.server import RedisProblem
from frontier.store import connect


def check_redis(url: str, *, timeout_seconds: float = 5) -> list[str]:
    """Return a warning for each setting with which this Redis, or a server of this cluster, could lose a crawl.

    A server of a cluster that does not answer is a warning too, since jobs on the other servers go on.

    Raises RedisProblem when Redis can't be reached, refuses the credentials, or is part of a cluster although the URL
    names a single server.
    """
    where = without_secrets(url)
    try:
        with closing(connect(url, timeout_seconds)) as client:
            if is_cluster(url):
                servers = [(node.name, node.redis_connection) for node in client.get_primaries()]
                return [warning for name, server in servers for warning in _warnings_of_server(server, name)]
            info = client.info()
            if info.get("cluster_enabled") and int(client.cluster("info").get("cluster_size", 0)) > 1:
                raise RedisProblem(f"Redis at {where} is part of a cluster; set redis.url to cluster://HOST:PORT")
            return _warnings(info, where)
    except redis.AuthenticationError as error:
        raise RedisProblem(
            f"Redis at {where} refuses the credentials ({error}); write them in redis.url, as redis://USER:PASSWORD@HOST"
        ) from error
    except ValueError as error:
        # The text of the client's error may hold a part of the password, which the client took for a port.
        raise RedisProblem(
            f"Redis at {where} can't be used: redis.url must begin with redis://, "
            f"rediss://, unix:// or cluster://; correct"
            " it (in a password, write / as %2F, ? as %3F, # as %23 and @ as %40), or leave it empty"
        ) from error
    except (redis.RedisError, RedisClusterException) as error:
        reason = " ".join(str(error).split())
        raise RedisProblem(
            f"Redis at {where} can't be used: {reason}; start it, correct redis.url, "
            f"or leave redis.url empty to use the private Redis"
        ) from error


def _warnings_of_server(server: redis.Redis, name: str) -> list[str]:
    """Return the warnings about one server of a cluster."""
    try:
        return _warnings(server.info(), name)
    except redis.AuthenticationError:
        raise
    except (redis.ConnectionError, redis.TimeoutError) as error:
        reason = " ".join(str(error).split())
        return [
            f"Redis at {name}, a server of the cluster, does not answer: {reason}; start it, since the jobs and"
            " collections that it has can't be used"
        ]


def _warnings(info: Any, where: str) -> list[str]:
    """Return the warnings that follow from the answer to INFO."""
    found = []
    if not info.get("aof_enabled"):
        found.append(f"Redis at {where} has appendonly = no: a restart would lose the frontier; set appendonly to yes")
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        found.append(
            f"Redis at {where} has maxmemory-policy = {policy}: Redis may drop "
            f"queued URLs; set maxmemory-policy to noeviction"
        )
    return found
