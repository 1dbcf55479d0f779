"""The disk is full: new work is refused and says why, nothing is torn or missing, and it goes on when there is room."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clients.fetching_clients import Load, body, check_kept
from support.clients.raw_client import BrokenOff, Reply
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy
from support.stores.few_files import room_for_few_files

ADDRESS = "127.0.1.27"
SIZE = 24_000_000
CLOSES_LATE = {"archive.warc_idle_seconds": 5}
"""A file that is not written to stays open for long enough to use the disk up meanwhile."""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with little room; skips where it can't be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda asked: (Send(response(body(asked.split(b" ", 2)[1].decode()))),))
        yield running


def test_a_full_disk_refuses_and_recovers(small_disk: Path, origin: RawOrigin) -> None:
    with RunningProxy(small_disk / "home", {"archive.min_free_bytes": 2_000_000}) as proxy:
        acknowledged = Load(proxy, origin, "first").finish()
        refused = until(lambda: _refused(proxy.get(origin.url("/refused/1"))), what="a refusal")
        assert (refused.header("Ghostfleet-Error") or "").startswith("0 ")
        assert refused.header("Retry-After")
        until(lambda: "disk" in str(proxy.status()).lower(), what="/status to say that the disk is full")

        _goes_on_with_more_room(proxy, origin, small_disk, acknowledged)


def test_a_disk_that_fills_within_a_write_loses_nothing(small_disk: Path, origin: RawOrigin) -> None:
    """Without a reserve the write itself fails (ENOSPC), in the middle of a record."""
    with RunningProxy(small_disk / "home", {"archive.min_free_bytes": 0}) as proxy:
        acknowledged = Load(proxy, origin, "first").finish()

        _goes_on_with_more_room(proxy, origin, small_disk, acknowledged)


@pytest.mark.slow  # the proxy gets another error number than that of a full disk
def test_a_file_size_limit_loses_nothing(tmp_path: Path, origin: RawOrigin) -> None:
    """A quota of the system's (RLIMIT_FSIZE): the write comes back short, then fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunningProxy(tmp_path / "home") as proxy:
        limited = proxy.pids()
        for pid in limited:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1_500_000, hard))
        acknowledged = Load(proxy, origin, "first").finish()
        for pid in limited:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
        until(lambda: _taken(proxy, origin.url("/again/1")), what="the proxy to go on")
        _check(proxy, [*acknowledged, origin.url("/again/1")])


def test_a_file_that_can_not_be_closed_stops_acceptance_until_it_is_closed(tmp_path: Path, origin: RawOrigin) -> None:
    """T15: `/status` said that work is accepted while each request got a 503, and the file stayed `.open`."""
    with (
        room_for_few_files(tmp_path / "home" / "collections" / "default") as few,
        RunningProxy(tmp_path / "home", CLOSES_LATE) as proxy,
    ):
        few.use_up()
        assert not _taken(proxy, origin.url("/lost/1"))
        because = until(lambda: proxy.status()["not_accepting_because"], what="the proxy to accept nothing")
        assert "can't open a file in" in because
        assert proxy.get(origin.url("/lost/2")).status == 503

        few.give_back()
        until(lambda: proxy.status()["accepting"], what="the proxy to accept work again")
        assert _taken(proxy, origin.url("/kept/1"))
        few.use_up()
        until(lambda: "can't be closed" in proxy.status()["not_accepting_because"], what="the proxy to stop again")

        few.give_back()
        until(lambda: proxy.status()["accepting"], what="the proxy to go on")
        assert [path.suffix for path in proxy.folder().iterdir()] == [".gz"]
        assert _taken(proxy, origin.url("/kept/2"))
        proxy.stop()
        check_kept(proxy.records(), [origin.url("/kept/1"), origin.url("/kept/2")])


def test_a_file_that_is_left_open_at_the_end_is_told_by_the_exit_code(tmp_path: Path, origin: RawOrigin) -> None:
    """T15: the exit code was 0."""
    with room_for_few_files(tmp_path / "home" / "collections" / "default") as few:
        proxy = RunningProxy(tmp_path / "home", CLOSES_LATE).start()
        assert _taken(proxy, origin.url("/kept/1"))
        few.use_up()
        until(lambda: not proxy.status()["accepting"], what="the closing to fail")
        with pytest.raises(AssertionError, match=r"exit code 1(.|\n)*can't be closed"):
            proxy.stop()
        few.give_back()
        assert "closed: 3 records" in proxy.command("repair").stdout


def test_few_inodes_stop_acceptance_before_none_is_left(tmp_path: Path, origin: RawOrigin) -> None:
    with (
        room_for_few_files(tmp_path / "disk", inodes=2_000) as few,
        RunningProxy(few.folder / "home", {"archive.min_free_bytes": 0, "archive.min_free_inodes": 100}) as proxy,
    ):
        assert _taken(proxy, origin.url("/kept/1"))
        few.use_up(until_left=50)
        because = until(lambda: proxy.status()["not_accepting_because"], what="the proxy to accept nothing")
        assert "archive.min_free_inodes = 100" in because
        few.give_back()
        until(lambda: proxy.status()["accepting"], what="the proxy to go on")


def _goes_on_with_more_room(proxy: RunningProxy, origin: RawOrigin, disk: Path, acknowledged: list[str]) -> None:
    subprocess.run(["mount", "-o", f"remount,size={4 * SIZE}", str(disk)], check=True)
    until(lambda: _taken(proxy, origin.url("/again/1")), what="the proxy to go on")
    _check(proxy, [*acknowledged, origin.url("/again/1")])


def _taken(proxy: RunningProxy, url: str) -> bool:
    try:
        reply = proxy.get(url)
    except (BrokenOff, OSError):
        return False
    return reply.whole and reply.status == 200


def _refused(reply: Reply) -> Reply | None:
    return reply if reply.status == 503 else None


def _check(proxy: RunningProxy, acknowledged: list[str]) -> None:
    """`records` raises Torn for a file that does not end with a whole record."""
    assert len(acknowledged) > 20
    proxy.stop()
    archive = proxy.records()
    check_kept(archive, acknowledged)
    indexed = {f"<urn:uuid:{line['id']}>" for line in proxy.sidecar_lines()}
    assert indexed == {record.id for record in archive.kinds("response", "revisit")}
