"""The disk is full: new work is refused and says why, nothing is torn or missing, and it goes on when there is room."""

from __future__ import annotations

import random
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from origin import RawOrigin, Send, response
from proxying import BrokenOff, Reply, RunningProxy
from waiting import until

ADDRESS = "127.0.1.27"
SIZE = 24_000_000
BODY = 100_000


def body(path: str) -> bytes:
    """Bytes that don't pack, different for each path."""
    return random.Random(path).randbytes(BODY)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with little room; skips where it can't be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
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
    settings = {"archive.min_free_bytes": 2_000_000}
    with RunningProxy(small_disk / "home", settings) as proxy:
        acknowledged = _until_refused(proxy, origin, "first")
        refused = until(lambda: _refused(proxy.get(origin.url("/refused"))), what="a refusal")
        assert refused.status == 503
        assert (refused.header("Ghostfleet-Error") or "").startswith("0 ")
        assert refused.header("Retry-After")
        until(lambda: "disk" in str(proxy.status()).lower(), what="/status to say that the disk is full", within=5)

        subprocess.run(["mount", "-o", f"remount,size={4 * SIZE}", str(small_disk)], check=True)
        until(lambda: proxy.get(origin.url("/again")).status == 200, what="the proxy to go on")
        acknowledged += [origin.url("/again")]
        proxy.stop()
        _check(proxy, acknowledged)


def test_a_disk_that_fills_within_a_write_loses_nothing(small_disk: Path, origin: RawOrigin) -> None:
    """Without a reserve the write itself fails (ENOSPC), in the middle of a record."""
    settings = {"archive.min_free_bytes": 0}
    with RunningProxy(small_disk / "home", settings) as proxy:
        acknowledged = _until_refused(proxy, origin, "first")
        assert not _taken(proxy, origin.url("/still-full"))

        subprocess.run(["mount", "-o", f"remount,size={4 * SIZE}", str(small_disk)], check=True)
        until(lambda: _taken(proxy, origin.url("/again")), what="the proxy to go on")
        acknowledged += [origin.url("/again")]
        proxy.stop()
        _check(proxy, acknowledged)


def test_a_file_size_limit_loses_nothing(tmp_path: Path, origin: RawOrigin) -> None:
    """A quota of the system's (RLIMIT_FSIZE): the write comes back short, then fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunningProxy(tmp_path / "home") as proxy:
        for pid in proxy.ready["pids"]:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1_500_000, hard))
        acknowledged = _until_refused(proxy, origin, "first", most=40)
        for pid in proxy.pids():
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
        until(lambda: _taken(proxy, origin.url("/again")), what="the proxy to go on")
        proxy.stop()
        _check(proxy, [*acknowledged, origin.url("/again")])


def _until_refused(proxy: RunningProxy, origin: RawOrigin, name: str, most: int = 400) -> list[str]:
    """Asks for new bodies until one is not given; the URLs of those that were."""
    acknowledged: list[str] = []
    for number in range(most):
        url = origin.url(f"/{name}/{number}")
        if not _taken(proxy, url):
            return acknowledged
        acknowledged.append(url)
    raise AssertionError(f"{most} bodies of {BODY} bytes were taken although there is no room for them")


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
    archive = proxy.records()
    kept = {record.url: record for record in archive.kinds("response")}
    assert [url for url in acknowledged if url not in kept] == []
    for url in acknowledged:
        assert kept[url].block == response(body("/" + url.partition("//")[2].partition("/")[2]))
    assert {record.field("WARC-Concurrent-To") for record in archive.kinds("request")} == {
        record.id for record in archive.kinds("response")
    }
    indexed = {line["id"] for line in proxy.sidecar_lines()}
    assert indexed == {record.id.removeprefix("<urn:uuid:").removesuffix(">") for record in archive.kinds("response")}
