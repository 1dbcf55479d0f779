"""What is told when a crawl has ended: to a command and to a URL, and nothing that goes wrong changes its end."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest
from support.origins.chain_site import ChainSite
from support.origins.raw_origin import Close, RawOrigin, Send
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until

from admin.jobs.results import end_hooks
from admin.jobs.results.end_hooks import HookError, check_url, post, run_command

FACTS = {"job": "spring", "collection": "garden", "status": "finished", "reason": "", "pages": 3, "folder": "/x y"}
SECRET = "s3cret"


def _answer(status: str) -> Send:
    return Send(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())


def _runs(pid: int) -> bool:
    """Whether this process lives; one that ended and that nobody asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(end_hooks, "_FIRST_PAUSE", 0.0)


def test_the_command_gets_the_summary_and_the_facts(tmp_path: Path) -> None:
    out = tmp_path / "told"
    script = f'cat > {out}; echo "$GHOSTFLEET_JOB|$GHOSTFLEET_STATUS|$GHOSTFLEET_FOLDER|$GHOSTFLEET_HOME" >> {out}'
    assert run_command(script, FACTS, "/home of it", seconds=60) == ""
    summary, facts = out.read_text().splitlines()
    assert json.loads(summary) == FACTS
    assert facts == "spring|finished|/x y|/home of it"


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 3", "ended with code 3"), ("kill -9 $$", "was killed by SIGKILL"), ("no-such-command", "code 127")],
)
def test_a_command_that_fails_is_one_line(script: str, said: str) -> None:
    trouble = run_command(script, FACTS, "/", seconds=60)
    assert said in trouble
    assert "\n" not in trouble


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "child"
    for seconds in (0.5, 5, 40):
        trouble = run_command(f"sleep 600 & echo $! > {note}; sleep 600", FACTS, "/", seconds=seconds)
        assert "was killed after" in trouble
        if note.exists() and note.read_text().endswith("\n"):
            break  # otherwise the shell was killed before it wrote the number of its child
    until(lambda: not _runs(int(note.read_text())), what="the end of its child")


def test_a_command_that_does_not_read_its_input_is_no_error() -> None:
    assert run_command("exit 0", {**FACTS, "reason": "x" * 1_000_000}, "/", seconds=60) == ""


def test_the_summary_is_posted_as_json() -> None:
    with RawOrigin() as origin:
        origin.otherwise(lambda _: [_answer("204 No Content")])
        assert post(origin.url(f"/hook?key={SECRET}"), FACTS) == ""
        (visit,) = origin.visits
    head, _, body = visit.received.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /hook?key=")
    assert b"\r\nContent-Type: application/json" in head
    assert json.loads(body) == FACTS


@pytest.mark.parametrize(("status", "tries"), [("503 Busy", 3), ("429 Slowly", 3), ("404 Gone", 1), ("302 Found", 1)])
def test_temporary_errors_are_retried_and_the_message_hides_a_secret_in_the_url(status: str, tries: int) -> None:
    with RawOrigin() as origin:
        origin.otherwise(lambda _: [_answer(status), Close()])
        trouble = post(origin.url(f"/{SECRET}").replace("://", f"://user:{SECRET}@"), FACTS)
        assert len(origin.visits) == tries
    assert trouble == f"the POST of --on-end-url to http://127.0.1.1 failed: answered {status[:3]}"


def test_a_refused_connection_is_one_line_without_the_secret() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    trouble = post(f"http://127.0.0.1:{port}/{SECRET}", FACTS)
    assert trouble == "the POST of --on-end-url to http://127.0.0.1 failed: ConnectError"


@pytest.mark.parametrize("url", [f"ftp://x/{SECRET}", SECRET, f"http:///{SECRET}", f"http://[{SECRET}/"])
def test_an_invalid_hook_url_is_refused_beforehand_and_not_shown(url: str) -> None:
    with pytest.raises(HookError) as caught:
        check_url(url)
    assert SECRET not in str(caught.value)


def test_a_crawl_runs_both_hooks_and_their_errors_do_not_change_its_exit_code(home: Path) -> None:
    out = home / "told"
    with ChainSite(1) as site, RawOrigin() as origin:
        origin.otherwise(lambda _: [_answer("403 No")])
        hooks = ("--on-end", f"cat > {out}; exit 9", "--on-end-url", origin.url(f"/{SECRET}"))
        flags = ("--allow-private", "--delay", "0", "--robots", "ignore", "--json")
        with Command("crawl", site.url, *flags, *hooks, home=home) as crawl:
            assert crawl.ended() == 0, crawl.stderr
        posted = json.loads(origin.visits[0].received.partition(b"\r\n\r\n")[2])
    assert json.loads(out.read_text()) == posted == crawl.line(event="summary")
    assert "the command of --on-end ended with code 9\n" in crawl.stderr
    assert "the POST of --on-end-url to http://127.0.1.1 failed: answered 403\n" in crawl.stderr
    assert SECRET not in crawl.stderr
    logs = "".join(path.read_text("utf-8") for path in home.rglob("*.log"))
    assert SECRET not in logs


def test_an_interrupted_crawl_runs_its_hook_too(home: Path) -> None:
    out = home / "told"
    with ChainSite(3) as site:
        site.hold("/1")
        flags = ("--allow-private", "--delay", "0", "--robots", "ignore", "--json")
        command = f'echo "$GHOSTFLEET_STATUS" > {out}'
        with Command("crawl", site.url, *flags, "--on-end", command, home=home) as crawl:
            until(lambda: "/1" in site.asked, what="a request for /1", within=60)
            crawl.signal(signal.SIGINT)
            crawl.line(event="notice", text="stopping: finishing 1 visit in progress; another Ctrl-C stops at once")
            site.let_go("/1")
            crawl.ended()
    assert out.read_text() == f"{crawl.line(event='summary')['status']}\n"
