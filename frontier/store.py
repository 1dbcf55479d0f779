"""A job's keys in Redis, and how its scripts are run.

All keys of one shard (setting `frontier.shard`) share a hash tag, so that every script keeps to one slot of a
cluster. Politeness is by host, for all jobs of the shard together; everything else is by job.

| key | type | what |
|---|---|---|
| `gf:{SHARD}:@HOST` | hash | `d` due ms, `b` end of block ms, `n` visits going on, `f` failures in a row, `k` claims |
| `gf:{SHARD}:JOB` | string | the job as JSON; while it exists, the job does |
| `…:JOB:state` | hash | opened, opening, paused, stopped, the limits, time at work, length of `scope` |
| `…:JOB:count` | hash | queued, done, failed, excluded, bytes, …; `c:CODE` by status, `r:REASON` rejected |
| `…:JOB:ready` | zset | hosts that have queued URLs and are not set aside, by when to look at them next |
| `…:JOB:q:HOST` | zset | URL ids by (priority, depth, sequence) |
| `…:JOB:retry` | zset | ids that wait before they go back to their queue, by due ms |
| `…:JOB:leases` | zset | ids that are leased, by expiry ms |
| `…:JOB:lease` | hash | id to token and worker; `c:WORKER`, `f:WORKER` its last claim and finish, for lost answers |
| `…:JOB:u` | hash | of what is queued or leased: id to record (host, place, JSON), `t:ID` visits that did not end it |
| `…:JOB:ended` | hash | id to ending, code, record: of what failed or was excluded |
| `…:JOB:aside` | hash | hosts set aside, to the reason |
| `…:JOB:pages` `…:hostbytes` | hash | visits that ended well, and bytes, by host |
| `…:JOB:seen:NNNN` | sets | fingerprints of eight bytes, packed by Redis as integer sets |
| `…:JOB:seeds` `…:scope` | hash, list | report of each seed; further seeds that redirects led to |
| `…:JOB:robots` | hash | robots.txt URL to when, status and text |
| `…:JOB:rejected` | list | the last ten thousand rejected links as JSON, newest first |

Times are milliseconds of Redis's own clock: those of the workers may differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from itertools import batched
from typing import Any, Final, NamedTuple

import redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisClusterException
from redis.retry import Retry

from archive.cluster_url import is_cluster, named_server
from frontier.seen import BUCKETS

type Argument = bytes | str | int | float

_NAMES: Final = (
    *("state", "count", "ready", "retry", "leases", "lease", "u", "ended", "aside"),
    *("pages", "hostbytes", "seeds", "scope", "robots", "rejected"),
)
_CHUNK: Final = 1000
_TRIES: Final = 3
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5


class FrontierUnavailable(Exception):
    """Redis can't be reached, did not answer in time or refused; the message says which, in one line."""


class FrontierLost(Exception):
    """Redis answers but knows nothing of the job: its data was lost or dropped. Never taken for a finished job."""


class Script(NamedTuple):
    """A Lua script of this folder, the shared helpers in front of it."""

    text: str
    sha1: str


@cache
def script(name: str) -> Script:
    """The script in `name`.lua."""
    folder = files("frontier")
    text = "".join(folder.joinpath(f"{part}.lua").read_text("utf-8") for part in ("common", name))
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


class Store:
    """The keys of one job, over a pool of connections. Safe to share between threads."""

    def __init__(self, url: str, shard: str, job: str, *, timeout_seconds: float) -> None:
        """Asks a cluster at once where its servers are, and nobody else anything. Raises FrontierUnavailable."""
        self.job = job
        self.root = f"gf:{{{shard}}}:{job}"
        self._hosts = f"gf:{{{shard}}}:@"
        self._address = url.rpartition("@")[2]
        with self.guarded():
            self.client = connect(url, timeout_seconds)

    def key(self, name: str) -> str:
        """A key of the job."""
        return f"{self.root}:{name}"

    def host_key(self, host: str) -> str:
        """The key of a host, shared by all jobs of the shard."""
        return self._hosts + host

    def run(self, name: str, *arguments: Argument) -> Any:
        """The answer of one script: atomic, in one round trip. Raises FrontierUnavailable, and FrontierLost."""
        lua = script(name)
        with self.guarded():
            try:
                answer = self._evalsha(lua, arguments)
            except redis.exceptions.NoScriptError:
                self.client.script_load(lua.text)
                answer = self._evalsha(lua, arguments)
        if answer == b"gone":
            raise FrontierLost(
                f"job {self.job} is unknown to Redis at {self._address}: its frontier was lost or dropped; "
                "open the job again to start it over"
            )
        return answer

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turns errors of Redis into FrontierUnavailable."""
        try:
            yield
        except (redis.RedisError, RedisClusterException) as error:
            reason = " ".join(str(error).split())
            raise FrontierUnavailable(f"Redis at {self._address}: {type(error).__name__}: {reason}") from error

    def drop(self) -> None:
        """Unlink all keys of the job."""
        with self.guarded():
            hosts = [*self.client.zrange(self.key("ready"), 0, -1), *self.client.hkeys(self.key("aside"))]
            queues = (self.key(f"q:{host.decode()}") for host in hosts)
            seen = (self.key(f"seen:{bucket}") for bucket in range(BUCKETS))
            for chunk in batched((self.root, *map(self.key, _NAMES), *queues, *seen), _CHUNK):
                self.client.unlink(*chunk)

    def _evalsha(self, lua: Script, arguments: tuple[Argument, ...]) -> Any:
        return self.client.execute_command("EVALSHA", lua.sha1, 1, self.root, *arguments)


def connect(url: str, timeout_seconds: float) -> Any:
    """A client of the Redis at `url`, which connects at the first command, or of a Redis Cluster, which does at once.

    Commands are sent again after a connection broke: every script that matters knows a repeated call.
    """
    options: dict[str, Any] = {
        "protocol": 2,
        "socket_timeout": timeout_seconds,
        "socket_connect_timeout": timeout_seconds,
    }
    if is_cluster(url):
        return redis.RedisCluster.from_url(named_server(url), **options)
    retry = Retry(ExponentialBackoff(cap=_LONGEST_PAUSE, base=_FIRST_PAUSE), _TRIES, (redis.ConnectionError,))
    return redis.Redis.from_url(url, retry=retry, **options)
