"""The store names a job's keys in Redis, and runs its scripts.

All keys of one shard (setting `frontier.shard`) share a hash tag, so that every script keeps to one slot of a
cluster. Politeness is by host, for all jobs of the shard together; everything else is by job. With the setting
`frontier.shards`, a job has several shards, each with these keys and a tag of its own (`frontier.shards`).

| key | type | content |
|---|---|---|
| `gf:{SHARD}:@HOST` | hash | `d` due ms, `b` end of the block ms, `n` current visits, `f` failures in a row, \
`e` code of the last failure, `k` claims, `j` job with the last lease, `l` end of that lease, `s` time of the note, \
`x` time at which the key got its expiry, `p` delay ms that robots.txt or a sheet asks for, when longer than the job's |
| `gf:{SHARD}:JOB` | string | the job as JSON; the job exists as long as this key |
| `gf:{SHARD}:=jobs` | set | names of all jobs |
| `gf:{SHARD}:=shards` | hash | job to the number of its shards; jobs with one shard have no field (`shards`) |
| `…:JOB:state` | hash | opened, opening, finished, paused, held, stopped, limits, time worked, `scope` length, clock, \
`unseen`, which grows when workers must forget their links; `waking`, the place of wake.lua after an edit of limits; \
of a job with several shards `others`, the counts of the other shards, `broken` attempts to end the job, and the \
last step of the `turns` of \
groups; `seeding` while seeds are still read, and how many seeds of the file have their prefixes stored and are marked \
as seen (`scoped`), and are queued (`seeded`) |
| `…:JOB:count` | hash | queued, done, failed, excluded, bytes, …; `c:CODE` by status, `r:REASON` rejected |
| `…:JOB:ready` | zset | hosts that have queued URLs and are not set aside, by the time of the next check; hosts of \
seeds of the file that were not visited, by small numbers in the order of the file |
| `…:JOB:front` | zset | hosts that are checked before the other hosts in `ready`, by the time of this check: those \
whose session goes on, and those with urgent URLs; a host that is not in `ready` when its time comes is passed over |
| `…:JOB:sessions` | hash | host whose session goes on to the number of its visits so far |
| `…:JOB:q:HOST` | zset | URL ids by (priority, depth, sequence) |
| `…:JOB:retry` | zset | ids that rest before a retry, by due ms |
| `…:JOB:leases` | zset | leased ids, by expiry ms |
| `…:JOB:lease` | hash | id to token and worker; `c:WORKER`, `f:WORKER` its last claim and finish, for lost answers |
| `…:JOB:u` | hash | id to record (host, score, JSON) |
| `…:JOB:tries` | hash | of an open URL with earlier visits: `t:ID` their number, `l:ID` workers lost with the URL |
| `…:JOB:ended` | hash | id of a failed or excluded URL to ending, code, record |
| `…:JOB:aside` | hash | host that was set aside to the reason |
| `…:JOB:beyond` | set | hosts with only documents in their queues, once the limit of pages is reached |
| `…:JOB:astray` | hash | seed that was rejected, or whose redirect was, to reason, rule, URL |
| `…:JOB:pages` `…:hostbytes` | hash | number of documents, and bytes, by host |
| `…:JOB:seen:NNNN` | set | fingerprints of eight bytes, which Redis packs as integer sets; beside a Bloom filter, \
those of seeds and of the targets of their redirects |
| `…:JOB:bloom:NNNN` | string | a block of the Bloom filter of seen URLs, with `seen.method = "bloom"` |
| `…:JOB:forgotten` | set | ids of URLs that are new again, though the Bloom filter has them |
| `…:JOB:prefix:NNNN` | set | SURT prefixes of the seeds as numbers of eight bytes, which Redis packs as integer sets |
| `…:JOB:seeds` `…:scope` | hash, list | report of each seed; changes of the scope of the running job: `+` for \
more prefixes, and patterns that operators reject, each behind a `!`, and for each edit of the profile a `=`, or \
`=scope` when the scope was edited |
| `…:JOB:edits` | list | edits of the profile as JSON |
| `…:JOB:used` `…:spent` | hash | by owner of a quota (job, domain, host or seed) and name: the amounts by kind; the \
reason of each owner that has reached a quota; of a job with several shards also `+KIND`, the amounts in the others |
| `…:JOB:retired` | set | ids of URLs that were ended since the quota of their seed was reached |
| `…:JOB:recount` | set | seeds of a job with several shards that have used something since their quotas were counted |
| `…:JOB:added` | list | seeds that were added to the running job |
| `…:JOB:view` | string | the progress view of the running command, as JSON |
| `…:JOB:robots` | hash | robots.txt URL to begin and end of validity, status and text |
| `…:JOB:missing` | hash | kind of visitor and folder to the look of a page that does not exist there |
| `…:JOB:slow` | hash | pattern that was switched off, since its search took too long, to a URL in which it did |
| `…:JOB:delays` | hash | host to the seconds that a program outside asked for between visits; '' for all hosts |
| `…:JOB:forced` | set | names of files and ids of URLs that the files asked to be visited again |
| `…:JOB:due` | zset | ids of URLs that a continuous crawl visits again, by due ms without `dueshift` of the state |
| `…:JOB:revisits` | hash | id to ms of the last visit and history, and the URL's record on the next lines |
| `…:JOB:groups` | hash | queue groups by name: `i:` number, `p:` visits at once, `w:` delay ms, `n:` current visits, \
`d:` due ms, `s:` time of the note, `v:` visits so far, `h:` hosts; of a job with several shards `b:`, the step in \
which the turn of the shard began, and the visits until then |
| `…:JOB:groupdef` `…:hostgroups` | string, hash | the groups as JSON; host to version of the groups, ms until which \
this is known (0 for ever), group |
| `…:JOB:parked` | zset | hosts that wait for their group, by number of the group and turn |
| `…:JOB:groupready` | zset | groups for which hosts wait, by the time of the next check |
| `…:JOB:segments` | hash | file with the end of a queue to host, first score, URLs left, entries read, mark of the \
folder, and ids of the file whose URLs stayed in Redis, each on a line (`segments`) |
| `…:JOB:spilled` | hash | host to the number of its URLs in segments |
| `…:JOB:unspilled` | hash | id of a URL that does not come back from a segment to its ending and code; '' if it \
was queued anew |
| `…:JOB:long` | set | hosts with more URLs in memory than `queue_memory` of the state |
| `…:JOB:rejected` | list | the last ten thousand rejected links as JSON, newest first |
| `…:JOB:counted` `…:passed` | string | exists for a second after the shards of a job were counted; for a quarter of a \
second after an idle worker passed the turns of groups on |
| `gf:{SHARD}:JOB=renders:…` | | the queue of renders: the keys of a job, and those below (`renders`) |
| `…=renders:since` | zset | ids of the queued and leased renders, by the ms at which they were queued |
| `…=renders:lags` | hash | number of finished renders by eight times the binary logarithm of their lag in ms |
| `…=renders:held` | hash | id of a render to the embeds that are left to the render, as MessagePack |
| `…=renders:rests` | hash | host to the ms until which the plain crawler has the host first |

Times are milliseconds of the clock of Redis, since the clocks of the workers may differ.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from copy import copy
from functools import cache
from importlib.resources import files
from itertools import batched, chain
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import redis
from redis.backoff import ExponentialBackoff
from redis.cluster import ClusterNode
from redis.exceptions import RedisClusterException
from redis.retry import Retry

from archive.settings.values.cluster_url import is_cluster, named_servers
from archive.settings.values.redacted import without_secrets
from frontier.definition.job import SeenRules
from frontier.seen import BUCKETS, DEFAULT_RULES, LINE_BYTES, Fingerprint, bloom_filter, fingerprint

type ScriptArgument = bytes | str | int | float

_NAMES: Final = (
    *("state", "count", "ready", "retry", "leases", "lease", "u", "tries", "ended", "aside"),
    *("pages", "hostbytes", "seeds", "scope", "robots", "missing", "rejected", "beyond", "astray", "added", "view"),
    *("cookies", "slow", "delays", "forced", "since", "lags", "held", "rests"),
    *("due", "revisits", "groups", "groupdef", "hostgroups", "parked", "groupready", "front", "sessions"),
    *("edits", "used", "spent", "retired", "recount"),
    *("segments", "spilled", "unspilled", "long", "forgotten", "counted", "passed"),
)
_CALLED: Final = {
    "links": ("add", "reject"),
    "finish": ("spend",),
    "exchange": ("spend", "finish", "claim"),
    "wake": ("used", "aside", "unretire"),
}
"""The scripts that a script calls."""
PREFIXES: Final = "prefix"
RENDERS: Final = "=renders"
"""The queue of a job's renders has the name of the job with this ending, which no job's name can have."""
_CHUNK: Final = 1000
_SCAN: Final = 500
MOST_SCANNED: Final = BUCKETS
"""The number of keys in Redis up to which a scan finds the sets of a job sooner than their names do."""
_DROPPING: Final = "dropping"
_RUN: Final = re.compile(r".+-\d{14}", re.DOTALL)
"""The name of a job's run ends with the time at which the run began."""
_TRIES: Final = 3
_PORT: Final = 6379
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5


class FrontierUnavailable(Exception):
    """Redis can't be reached, did not answer in time or refused a command. The message gives the reason in one line."""


class FrontierLost(Exception):
    """Redis answers but has no such job: the job's data was lost or dropped. This is never taken for a finished job."""


class FrontierScript(NamedTuple):
    """The script is a Lua script of the folder `lua`, with the shared helpers in front of it."""

    text: str
    sha1: str


@cache
def script(name: str) -> FrontierScript:
    """Return the script in `name`.lua.

    The scripts that it calls are functions of their names in front of it. They take the arguments and the job.
    """
    folder = files("frontier").joinpath("lua")
    called = _CALLED.get(name, ())
    read = {part: folder.joinpath(f"{part}.lua").read_text("utf-8") for part in ("common", *called, name)}
    functions = "".join(f"local function {part}(ARGV, own)\n{read[part]}\nend\n" for part in called)
    main = f"local function script()\n{read[name]}\nend\nlocal answer = script()\nstore_changes()\nreturn answer\n"
    text = read["common"] + functions + main
    return FrontierScript(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


class Store:
    """The store runs scripts on the keys of one job, over a pool of connections. Safe to share between threads."""

    def __init__(self, url: str, shard: str, job: str, *, timeout_seconds: float) -> None:
        """Connect to a cluster at once, and to another Redis at the first command. Raises FrontierUnavailable."""
        self.job = job
        self.shard, self.root = shard, f"gf:{{{shard}}}:{job}"
        self._address = without_secrets(url)
        self._is_cluster = is_cluster(url)
        self.seen = DEFAULT_RULES
        with self.guarded():
            self.client = connect(url, timeout_seconds)

    @property
    def seen(self) -> SeenRules:
        """The rules by which the job takes URLs for the same one."""
        return self._seen

    @seen.setter
    def seen(self, rules: SeenRules) -> None:
        self._seen = DEFAULT_RULES if rules == DEFAULT_RULES else rules

    def renders(self) -> Store:
        """Return the store of the job's renders, on the same connections."""
        other = copy(self)
        other.job, other.root = f"{self.job}{RENDERS}", f"{self.root}{RENDERS}"
        return other

    def of_shard(self, shard: str) -> Store:
        """Return the store of the same job in another slot, on the same connections."""
        other = copy(self)
        other.shard, other.root = shard, f"gf:{{{shard}}}:{self.job}"
        return other

    def shards(self) -> int:
        """Return the number of shards of the job; 1 for a job that does not exist."""
        with self.guarded():
            return int(self.client.hget(_shards_key(self.shard), self.job) or 1)

    def key(self, name: str) -> str:
        """Return a key of the job."""
        return f"{self.root}:{name}"

    def fingerprint(self, url: str) -> Fingerprint:
        """Return the fingerprint of a canonical URL in this job."""
        return fingerprint(url, self.seen)

    def was_seen(self, mark: Fingerprint) -> bool:
        """Return whether the job has seen a URL; with a Bloom filter, some URLs are taken for seen ones."""
        bucket, *filtered = mark.place.split(b" ", 3)
        with self.guarded():
            if not filtered:
                return bool(self.client.sismember(self.key(f"seen:{bucket.decode()}"), mark.id))
            begin, bits = int(filtered[1]) * LINE_BYTES, filtered[2]
            key = self.key(f"bloom:{filtered[0].decode()}")
            line = self.client.getrange(key, begin, begin + LINE_BYTES - 1)
            wanted = zip(bits[: len(bits) // 2], bits[len(bits) // 2 :], strict=True)
            is_in_filter = bool(line) and all(line[place] & bit for place, bit in wanted)
            return is_in_filter and not self.client.sismember(self.key("forgotten"), mark.id)

    def host_key(self, host: str) -> str:
        """Return the key of a host, which all jobs of the shard share."""
        return f"{self.root.removesuffix(self.job)}@{host}"

    def scan(self, name: str) -> Iterator[tuple[bytes, Any]]:
        """Yield the fields and values of a hash of the job. Raises FrontierUnavailable."""
        with self.guarded():
            yield from self.client.hscan_iter(self.key(name), count=_SCAN)

    def aside(self) -> set[bytes]:
        """Return the hosts that were set aside. Raises FrontierUnavailable."""
        with self.guarded():
            return set(self.client.hkeys(self.key("aside")))

    def run(self, name: str, *arguments: ScriptArgument) -> Any:
        """Return the answer of one script: atomic, in one round trip. Raises FrontierUnavailable, and FrontierLost."""
        lua = script(name)
        with self.guarded():
            try:
                answer = self._script(("EVALSHA", lua.sha1), arguments)
            except redis.exceptions.NoScriptError:
                # SCRIPT LOAD would go to all servers of a cluster, and fail while any of them is down.
                answer = self._script(("EVAL", lua.text), arguments)
        if answer == b"gone":
            name = self.job.removesuffix(RENDERS)
            raise FrontierLost(
                f"Redis at {self._address} has no job {name}: the frontier was lost or dropped; "
                "start the job again, and it begins anew"
            )
        return answer

    def now_ms(self) -> int:
        """Return the clock of the Redis that has the job, in milliseconds. Of a cluster, each server has its own."""
        with self.guarded():
            own = {"target_nodes": self.client.get_node_from_key(self.root)} if self._is_cluster else {}
            seconds, micros = self.client.time(**own)
        return int(seconds) * 1000 + int(micros) // 1000

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn errors of Redis into FrontierUnavailable."""
        try:
            yield
        except (redis.RedisError, RedisClusterException) as error:
            reason = " ".join(str(error).split())
            raise FrontierUnavailable(f"Redis at {self._address}: {type(error).__name__}: {reason}") from error

    def drop(self) -> None:
        """Unlink all keys of the job, and those of its renders. `finish_drop` goes on with a drop that was killed."""
        with self.guarded():
            self.client.set(self.key(_DROPPING), 1)
            # Scripts look for these keys first. Without them, no other process adds anything to the job from here on.
            self.client.unlink(self.root, self.key("state"), self.key("lease"))
        if not self.job.endswith(RENDERS) and self.has_renders():
            self.renders().drop()
        with self.guarded():
            hosts = {
                *self.client.zrange(self.key("ready"), 0, -1),
                *self.client.zrange(self.key("parked"), 0, -1),
                *self.client.hkeys(self.key("aside")),
                *self.client.smembers(self.key("beyond")),
                *self.client.hkeys(self.key("spilled")),
            }
            queues = (self.key(f"q:{host.decode()}") for host in hosts)
            filtered = None if self.job.endswith(RENDERS) else bloom_filter(self.seen)
            blocks = (self.key(f"bloom:{block}") for block in range(filtered.blocks if filtered else 0))
            # The names go last: a second drop finds the hosts in them.
            for chunk in batched(chain(queues, self._sets(), blocks, map(self.key, _NAMES)), _CHUNK):
                self.client.unlink(*chunk)
            self.client.srem(_jobs_key(self.shard), self.job)
            self.client.hdel(_shards_key(self.shard), self.job)
            self.client.unlink(self.key(_DROPPING))

    def finish_drop(self) -> None:
        """Unlink what a drop that was killed has left of an earlier job of this name, such as its seen URLs."""
        with self.guarded():
            is_left = self.client.exists(self.key(_DROPPING))
        if is_left:
            self.drop()

    def _sets(self) -> Iterator[bytes | str]:
        """Yield the keys of all sets of URLs and of prefixes that the job may have.

        A small Redis is asked which keys there are, instead of being told all names that there can be.
        """
        kinds = [self.key(f"{name}:") for name in ("seen", PREFIXES)]
        if self._is_cluster or self.client.dbsize() > MOST_SCANNED:
            yield from (f"{kind}{bucket}" for kind in kinds for bucket in range(BUCKETS))
            return
        for kind in kinds:
            pattern = re.sub(r"([\[\]*?\\])", r"\\\1", kind)
            yield from self.client.scan_iter(f"{pattern}*", _CHUNK)

    def has_renders(self) -> bool:
        """Return whether a page of the job was ever queued for a render."""
        with self.guarded():
            return bool(self.client.exists(f"{self.root}{RENDERS}:count"))

    def _script(self, call: tuple[str, str], arguments: tuple[ScriptArgument, ...]) -> Any:
        return self.client.execute_command(*call, 1, self.root, *arguments)


def job_names(url: str, shard: str, *, timeout_seconds: float) -> list[str]:
    """Return the jobs in the frontier, in order. Raises FrontierUnavailable."""
    store = Store(url, shard, "", timeout_seconds=timeout_seconds)
    with store.guarded(), closing(store.client):
        return sorted(name.decode("utf-8", "replace") for name in store.client.smembers(_jobs_key(shard)))


def latest_run(name: str, known: Iterable[str]) -> str | None:
    """Return the run that a name means among the names of jobs in the frontier: itself, or the job's latest run."""
    names = set(known)
    if name in names:
        return name
    runs = [each for each in names if _RUN.fullmatch(each) and each[: -len("-YYYYMMDDhhmmss")] == name]
    return max(runs, key=lambda run: run[-14:], default=None)


def _jobs_key(shard: str) -> str:
    return f"gf:{{{shard}}}:=jobs"


def _shards_key(shard: str) -> str:
    return f"gf:{{{shard}}}:=shards"


def connect(url: str, timeout_seconds: float) -> Any:
    """Return a client of the Redis or Redis Cluster at `url`.

    The client of a cluster connects at once, the other one at its first command. A command is sent again after a
    connection broke: scripts for which this matters recognise a repeated call.
    """
    options: dict[str, Any] = {
        "protocol": 2,
        "socket_timeout": timeout_seconds,
        "socket_connect_timeout": timeout_seconds,
    }
    options["retry"] = Retry(
        ExponentialBackoff(cap=_LONGEST_PAUSE, base=_FIRST_PAUSE), _TRIES, (redis.ConnectionError,)
    )
    if not is_cluster(url):
        return redis.Redis.from_url(url, **options)
    # The client of a cluster heeds nothing of `retry` but the number of tries. By default it would try ten times, so
    # that a server that hangs would be waited for almost a minute.
    first, *others = named_servers(url)
    named = [(parts.hostname or "localhost", parts.port or _PORT) for parts in map(urlsplit, others)]
    nodes = [ClusterNode(host, port) for host, port in named]  # type: ignore[no-untyped-call]
    return redis.RedisCluster.from_url(first, startup_nodes=nodes, **options)


def stored_number(value: bytes | None) -> int:
    """Return a number that a script stored; Lua may have written it as `1.5e+12`."""
    return int(float(value)) if value else 0
