"""The ends of long queues wait in files: in order, counted, and neither lost nor visited twice after a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from support.processes.python_code import PLACES, code_command
from support.stores.real_frontier import PATIENT, Bench

from frontier.definition.scope import Candidate, Priority
from frontier.lease import JobFinished, JobStopped, Lease, Pause
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.segments.registry import SegmentRegistry
from frontier.segments.segment_file import SegmentDamaged, SegmentEntry, read_segment, write_segment
from frontier.segments.spiller import COLD_URLS, LOOK_SECONDS, QueueSpiller
from frontier.store import ScriptArgument, Store

MOST = 20
OK = VisitOutcome(200)


def url(number: int) -> str:
    return f"http://big.example/{number}"


def filled(bench: Bench, folder: Path, count: int = 200) -> tuple[Frontier, QueueSpiller, list[str]]:
    """A frontier with one long queue, its spiller, and the messages of this one."""
    frontier = bench.frontier("http://big.example/0", settings=PATIENT.model_copy(update={"queue_memory": MOST}))
    frontier.segments.folder = folder
    notes: list[str] = []
    spiller = frontier.spiller(notes.append)
    spiller.look()
    frontier.add(Candidate(url(number), "L", via=url(0), depth=1) for number in range(1, count))
    spiller.look()
    return frontier, spiller, notes


def drained(frontier: Frontier, spiller: QueueSpiller, most: int = 10_000) -> list[str]:
    """The URLs of all visits, in order, while the spiller looks after each."""
    visited: list[str] = []
    for _ in range(most):
        match frontier.claim("w"):
            case Lease() as lease:
                visited.append(lease.url)
                frontier.finish(lease, OK)
            case Pause():
                pass
            case JobFinished():
                return visited
        spiller.look()
    raise AssertionError(f"the job did not end after {len(visited)} visits")


def in_memory(bench: Bench) -> int:
    return int(bench.client.zcard(bench.key("q:big.example")))


def test_a_long_queue_leaves_memory_and_comes_back_in_order(bench: Bench, tmp_path: Path) -> None:
    frontier, spiller, notes = filled(bench, tmp_path / "queue")
    progress = frontier.reports.progress()
    assert (progress.queued, progress.spilled) == (200, 200 - in_memory(bench))
    assert in_memory(bench) <= MOST
    assert bench.client.hlen(bench.key("u")) == in_memory(bench)
    assert frontier.reports.host_queue("big.example").queued == 200
    assert [queue.queued for queue in frontier.reports.longest_queues(5)] == [200]
    assert [host.queued for host in frontier.reports.hosts()] == [200]
    assert drained(frontier, spiller) == [url(number) for number in range(200)]
    progress = frontier.reports.progress()
    assert (progress.done, progress.queued, progress.spilled, progress.lost) == (200, 0, 0, 0)
    assert not notes
    assert not bench.client.exists(bench.key("segments"), bench.key("spilled"), bench.key("unspilled"))


def test_priorities_and_depths_are_kept(bench: Bench, tmp_path: Path) -> None:
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    frontier.add([Candidate("http://big.example/high", "L", depth=1, priority=Priority.HIGH)])
    frontier.add([Candidate("http://big.example/deep", "LLL", depth=3)])
    visited = drained(frontier, spiller)
    assert visited[0] == "http://big.example/high"
    assert visited[-1] == "http://big.example/deep"


def test_the_worker_waits_for_urls_that_are_in_segments_only(bench: Bench, tmp_path: Path) -> None:
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    while isinstance(claim := frontier.claim("w"), Lease):
        frontier.finish(claim, OK)
    assert isinstance(claim, Pause)
    assert claim.why == "spilled"
    assert drained(frontier, spiller)[-1] == url(199)


def test_a_kill_before_redis_knows_the_file_changes_nothing(bench: Bench, tmp_path: Path) -> None:
    frontier, _, _ = filled(bench, tmp_path / "queue", count=MOST)
    entries = [SegmentEntry("1", 5, 0, 0, b"big.example\n5\n[]")]
    write_segment(tmp_path / "queue" / "orphan.gz", entries)
    assert frontier.reports.progress().spilled == 0
    again = frontier.spiller()
    assert drained(frontier, again) == [url(number) for number in range(MOST)]


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_kill_between_the_steps_of_reading_back_loses_and_repeats_nothing(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr("frontier.segments.spiller._STEP", 3)
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    run, calls = frontier._store.run, 0

    def dies(name: str, *arguments: bytes | str | float) -> object:
        nonlocal calls
        calls += name == "unspill"
        if calls > after:
            raise KeyboardInterrupt
        return run(name, *arguments)

    visited: list[str] = []
    monkeypatch.setattr(spiller._store, "run", dies)
    while calls <= after:
        claim = frontier.claim("w")
        assert isinstance(claim, Lease)
        visited.append(claim.url)
        frontier.finish(claim, OK)
        try:
            spiller.look()
        except KeyboardInterrupt:
            break
    monkeypatch.setattr(spiller._store, "run", run)
    assert sorted(visited + drained(frontier, frontier.spiller())) == sorted(url(number) for number in range(200))


def test_a_process_that_is_killed_with_9_loses_and_repeats_nothing(bench: Bench, tmp_path: Path) -> None:
    frontier, _, _ = filled(bench, tmp_path / "queue", count=1000)
    code = (
        "import sys; from pathlib import Path\n"
        "from archive.settings import FrontierSettings\n"
        "from frontier.queue import Frontier\n"
        "frontier = Frontier.of(sys.argv[1], 'spring', FrontierSettings(queue_memory=int(sys.argv[3])))\n"
        "frontier.segments.folder = Path(sys.argv[2])\n"
        "while True:\n"
        "    frontier._settings = frontier._settings.model_copy(update={'queue_memory': 20})\n"
        "    frontier.spiller().look(); print('spilled', flush=True)\n"
        "    frontier._settings = frontier._settings.model_copy(update={'queue_memory': 400})\n"
        "    frontier.spiller().look(); print('read', flush=True)\n"
    )
    for rounds in (1, 2, 3):
        command = code_command(code, bench.url, str(tmp_path / "queue"), str(MOST))
        with subprocess.Popen(command, env={**os.environ, **PLACES}, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(rounds):
                process.stdout.readline()
            os.kill(process.pid, signal.SIGKILL)
        progress = frontier.reports.progress()
        assert progress.queued == 1000
        left = sum(segment.left for segment in SegmentRegistry(frontier._store).segments())
        assert left + in_memory(bench) == 1000
    visited = drained(frontier, frontier.spiller())
    assert sorted(visited) == sorted(url(number) for number in range(1000))


def test_a_full_disk_keeps_the_urls_in_memory(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, entries: object) -> None:
        raise OSError(28, "No space left on device")

    frontier, spiller, _ = filled(bench, tmp_path / "queue", count=MOST)
    monkeypatch.setattr("frontier.segments.spiller.write_segment", full)
    frontier.add(Candidate(url(number), "L", via=url(0), depth=1) for number in range(MOST, 100))
    with pytest.raises(OSError, match="No space"):
        spiller.look()
    assert (frontier.reports.progress().spilled, in_memory(bench)) == (0, 100)
    monkeypatch.undo()
    spiller.look()
    assert in_memory(bench) <= MOST, "the end of the queue is written when there is space"
    assert drained(frontier, spiller) == [url(number) for number in range(100)]


@pytest.mark.parametrize("damage", ["removed", "cut", "noise", "folder"])
def test_a_lost_segment_is_named_and_counted(bench: Bench, tmp_path: Path, damage: str) -> None:
    frontier, spiller, notes = filled(bench, tmp_path / "queue")
    segment = frontier.segments.segments()[0]
    path = tmp_path / "queue" / segment.name
    match damage:
        case "removed":
            path.unlink()
        case "cut":
            path.write_bytes(path.read_bytes()[:-9])
        case "noise":
            path.write_bytes(b"\x1f\x8b" + os.urandom(2_000))
        case "folder":
            for each in (tmp_path / "queue").glob("*.gz"):
                each.unlink()
    visited = drained(frontier, spiller)
    progress = frontier.reports.progress()
    assert progress.lost >= segment.left
    assert len(visited) + progress.lost == 200
    assert (progress.queued, progress.spilled) == (0, 0)
    assert any(segment.name in note and "big.example" in note for note in notes)


def test_segments_of_another_home_stay(bench: Bench, tmp_path: Path) -> None:
    frontier, _, _ = filled(bench, tmp_path / "queue")
    frontier.segments.folder = tmp_path / "elsewhere"
    notes: list[str] = []
    other = frontier.spiller(notes.append)
    while isinstance(claim := frontier.claim("w"), Lease):
        frontier.finish(claim, OK)
        other.look()
    assert isinstance(claim, Pause)
    assert frontier.reports.progress().lost == 0
    assert any("another folder" in note for note in notes)
    frontier.segments.folder = tmp_path / "queue"
    assert drained(frontier, frontier.spiller())[-1] == url(199)


def test_entries_and_deletions_reach_urls_in_segments(bench: Bench, tmp_path: Path) -> None:
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    queued = {entry.url for entry in frontier.desk.entries(("queued",))}
    assert queued == {url(number) for number in range(200)}
    assert len(list(frontier.reports.urls("queued"))) == 200
    wanted = [url(number) for number in range(150, 200)]
    assert frontier.desk.delete(wanted) == 50
    assert {entry.url for entry in frontier.desk.entries(("queued",))} == queued - set(wanted)
    assert drained(frontier, spiller) == [url(number) for number in range(150)]
    progress = frontier.reports.progress()
    assert (progress.done, progress.excluded, progress.queued) == (150, 50, 0)


def test_a_url_in_a_segment_that_is_wanted_now_is_visited_once(bench: Bench, tmp_path: Path) -> None:
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    frontier.visit_now([url(180)])
    frontier.add_urls([Candidate(url(170), priority=Priority.HIGH, force=True)])
    visited = drained(frontier, spiller)
    assert visited[:2] == [url(180), url(170)]
    assert sorted(visited) == sorted(url(number) for number in range(200))
    assert frontier.reports.progress().queued == 0


def test_a_host_that_is_set_aside_takes_its_segments_along(bench: Bench, tmp_path: Path) -> None:
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    frontier.controls.set_host_aside("big.example", "enough")
    spiller.look()
    progress = frontier.reports.progress()
    assert (progress.queued, progress.excluded) == (0, 200)
    frontier.controls.wake_host("big.example")
    assert frontier.reports.progress().queued == 200
    assert len(drained(frontier, spiller)) == 200


def test_the_queue_of_a_host_that_is_set_aside_takes_no_memory_until_the_host_wakes(
    bench: Bench, tmp_path: Path
) -> None:
    frontier = bench.frontier(url(0), settings=PATIENT.model_copy(update={"queue_memory": 10_000}))
    frontier.segments.folder = tmp_path / "queue"
    frontier.add(Candidate(url(number), "L", via=url(0), depth=1) for number in range(1, COLD_URLS))
    frontier.controls.set_host_aside("big.example", "limit-host-urls")
    frontier.spiller().look()
    assert in_memory(bench) == COLD_URLS, "a file would cost more than so few URLs"
    frontier.add(Candidate(url(number), "L", via=url(0), depth=1) for number in range(COLD_URLS, 5 * COLD_URLS))
    spiller = frontier.spiller()
    for _ in range(2):
        spiller.look()
        assert (in_memory(bench), bench.client.hlen(bench.key("u"))) == (0, 0)
    progress = frontier.reports.progress()
    assert (progress.queued, progress.excluded, progress.spilled) == (0, 5 * COLD_URLS, 5 * COLD_URLS)
    assert frontier.desk.delete([url(7)]) == 1
    frontier.controls.wake_host("big.example")
    left = [url(number) for number in range(5 * COLD_URLS) if number != 7]
    assert drained(frontier, spiller) == left
    progress = frontier.reports.progress()
    assert (progress.done, progress.queued, progress.spilled, progress.lost) == (len(left), 0, 0, 0)


def test_many_hosts_that_are_set_aside_make_the_looks_rarer(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontier.segments.spiller._FEW", 5)
    frontier = bench.frontier(settings=PATIENT.model_copy(update={"queue_memory": MOST}))
    frontier.segments.folder = tmp_path / "queue"
    spiller = frontier.spiller()
    for number in range(10):
        spiller.look()
        assert spiller._pause == LOOK_SECONDS
        frontier.controls.set_host_aside(f"{number}.example", "failing")
    spiller.look()
    assert spiller._pause == 2 * LOOK_SECONDS


def test_entries_that_all_stayed_in_memory_are_passed_over(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontier.segments.spiller._STEP", 3)
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    again = [f"http://big.example/again/{number}" for number in range(6)]
    frontier.add([Candidate(each, "LLL", depth=3) for each in again])
    for each in again:  # as if they had been in another segment, and were added again
        bench.client.hset(bench.key("unspilled"), frontier._store.fingerprint(each).id, "")
    frontier.add(Candidate(url(number), "L", via=url(0), depth=1) for number in range(200, 300))
    spiller.look()
    assert any(segment.stayed for segment in frontier.segments.segments())
    assert drained(frontier, spiller) == [*(url(number) for number in range(300)), *again]
    assert not bench.client.exists(bench.key("unspilled")), "without segments, no mark has a meaning"


def test_a_host_that_stays_aside_with_its_segments_does_not_hold_the_job(bench: Bench, tmp_path: Path) -> None:
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    frontier.controls.set_host_aside("big.example", "enough")
    assert drained(frontier, spiller, most=5) == []
    progress = frontier.reports.progress()
    assert (progress.queued, progress.excluded) == (0, 200)
    assert isinstance(frontier.renders.claim("r"), JobFinished)


def test_a_job_at_its_limit_of_pages_stops_with_segments_left(bench: Bench, tmp_path: Path) -> None:
    frontier, spiller, _ = filled(bench, tmp_path / "queue")
    frontier.set_limits({"pages": 1})
    first = frontier.claim("w")
    assert isinstance(first, Lease)
    frontier.finish(first, VisitOutcome(200, is_document=True))
    for _ in range(5):
        spiller.look()
        claim = frontier.claim("w")
    assert claim == JobStopped("limit-pages")
    frontier.set_limits({"pages": 1_000})
    assert len(drained(frontier, spiller)) == 199


def test_a_lost_answer_to_a_spill_loses_no_urls(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Store.run

    def twice(store: Store, name: str, *arguments: ScriptArgument) -> object:
        """The client sends a script again when the connection broke before the answer."""
        if name in ("spill", "unspill"):
            run(store, name, *arguments)
        return run(store, name, *arguments)

    monkeypatch.setattr(Store, "run", twice)
    frontier, spiller, notes = filled(bench, tmp_path / "queue")
    assert frontier.reports.progress().spilled > 0
    assert drained(frontier, spiller) == [url(number) for number in range(200)]
    assert (frontier.reports.progress().lost, notes) == (0, [])


def test_everything_is_kept_in_memory_with_0(bench: Bench, tmp_path: Path) -> None:
    frontier, _, _ = filled(bench, tmp_path / "queue")
    spiller = QueueSpiller(frontier._store, tmp_path / "queue", 0)
    for _ in range(60):
        spiller.look()
    assert in_memory(bench) == 200
    assert frontier.reports.progress().spilled == 0


def test_a_job_that_is_forgotten_leaves_no_segments(bench: Bench, tmp_path: Path) -> None:
    frontier, _, _ = filled(bench, tmp_path / "queue")
    frontier.forget()
    assert not (tmp_path / "queue").exists()
    assert not bench.client.keys(bench.key("*"))


def test_a_segment_keeps_any_record(tmp_path: Path) -> None:
    entries = [SegmentEntry("-5", 2**51, 3, 1, b'h\n1\n["\xff\xfe"]'), SegmentEntry("7", 1, 0, 0, "ä\u2028".encode())]
    write_segment(tmp_path / "a.gz", entries)
    assert read_segment(tmp_path / "a.gz") == entries
    shutil.copy(tmp_path / "a.gz", tmp_path / "b.gz")
    (tmp_path / "b.gz").write_bytes(b"no gzip")
    with pytest.raises(SegmentDamaged, match=r"b\.gz is damaged"):
        read_segment(tmp_path / "b.gz")
