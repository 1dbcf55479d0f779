"""Users' addons: loaded or refused in one line, asked before a fetch, told after a record, never in a record's way."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
from support.origins.raw_origin import RawOrigin
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.stores.redis_server import RedisServer

from archive.settings.load import Settings, SettingsError
from proxy.extend import Addon, Asked, Block, Decision, Rewrite
from proxy.protocol.http1 import RequestHead, parse_request
from proxy.refusal import Refused
from proxy.scripting import user_addons
from proxy.scripting.user_addons import UserAddons, load, rewritten
from proxy.sessions.spec import SessionSpec

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "extending.md"
SPEC = SessionSpec("default")


def head(*lines: str) -> RequestHead:
    return parse_request("\r\n".join(("GET /a HTTP/1.1", "Host: a.example", *lines, "", "")).encode())


def at_work(addon: object, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> UserAddons:
    point = EntryPoint("mine", "somewhere:addon", user_addons.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda _: addon)
    monkeypatch.setattr(user_addons, "entry_points", lambda group: EntryPoints([point]).select(group=group))
    return UserAddons(load(["mine"], settings.home))


@contextmanager
def proxy_with(home: Path, redis_url: str, source: str) -> Iterator[ProxyProcess]:
    home.mkdir(parents=True)
    (home / "mine.py").write_text(source)
    with ProxyProcess(home, redis_url, {"proxy.addons": "mine.py"}) as proxy:
        yield proxy


# -- loading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (None, "there is no file"),
        ("x = 1", "must define `addon`"),
        ("def broken(:", "can't be loaded: SyntaxError"),
        ("raise ZeroDivisionError('oh')", "can't be loaded: ZeroDivisionError: oh"),
        ("class addon:\n  def __init__(self): raise OSError('no list')", "can't be loaded: OSError: no list"),
        ("addon = object()", "neither before_connect nor after_keep"),
        ("from proxy.extend import Addon as addon", "neither before_connect nor after_keep"),
        (
            "from proxy.extend import Addon\nclass addon(Addon):\n"
            "  when_failing = 'ask'\n  def after_keep(self, capture): pass",
            "when_failing = 'ask' must be block or allow",
        ),
    ],
)
def test_what_can_not_be_used_is_named_in_one_line(settings: Settings, source: str | None, complaint: str) -> None:
    if source is not None:
        (settings.home / "mine.py").write_text(source)

    with pytest.raises(SettingsError) as caught:
        load(["mine.py"], settings.home)

    assert str(caught.value).startswith("setting proxy.addons: ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_entry_point_is_refused_with_what_there_is(settings: Settings) -> None:
    with pytest.raises(SettingsError, match=r"group ghostfleet\.addons is called nobody; installed are none"):
        load(["nobody"], settings.home)


def test_a_start_with_a_broken_addon_ends_with_exit_code_2(tmp_path: Path) -> None:
    home = tmp_path / "home"

    with Command("proxy", "--port", "0", home=home, GHOSTFLEET_PROXY__ADDONS="/nowhere/mine.py") as command:
        code = command.ended()

    assert code == 2
    assert "setting proxy.addons: there is no file /nowhere/mine.py" in command.stderr
    assert "Traceback" not in command.stderr


def test_an_entry_point_may_be_a_class_and_is_called_by_its_name(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Nothing(Addon):
        def before_connect(self, asked: Asked) -> Decision:
            return Block("nothing today")

    found = at_work(Nothing, monkeypatch, settings).judge("default", SPEC, head(), "http://a.example/a")

    assert isinstance(found, Refused)
    assert (found.status, found.code, str(found)) == (403, -5002, "blocked by addon mine: nothing today")


# -- judging ----------------------------------------------------------------------------------------------------------


def test_a_judge_sees_the_request_without_what_is_for_the_proxy(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Asked] = []

    class Watcher(Addon):
        def before_connect(self, asked: Asked) -> Decision:
            seen.append(asked)
            return None

    asked = head("X-Name: caf\xe9", "Proxy-Authorization: Basic c2VjcmV0", 'Warcprox-Meta: {"a": 1}')
    found = at_work(Watcher(), monkeypatch, settings).judge("one", SPEC, asked, "http://a.example/a")

    assert found is SPEC
    assert seen == [Asked("one", SPEC, "GET", "http://a.example/a", (("host", "a.example"), ("x-name", "cafÃ©")))]
    assert seen[0].header("X-NAME") == "cafÃ©"
    assert seen[0].header("cookie") is None


@pytest.mark.parametrize("answer", [True, "block", Rewrite(collection="../up"), Rewrite(egress="ftp://x")])
@pytest.mark.parametrize("when_failing", ["block", "allow"])
def test_a_judge_that_answers_nonsense_is_counted_and_blocks_unless_it_says_otherwise(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, answer: Any, when_failing: Any
) -> None:
    class Confused(Addon):
        name = "confused"

        def before_connect(self, asked: Asked) -> Decision:
            return answer  # type: ignore[no-any-return]

    Confused.when_failing = when_failing
    at = at_work(Confused, monkeypatch, settings)

    found = at.judge("default", SPEC, head(), "http://a.example/a")

    assert at.errors == {"confused": 1}
    assert isinstance(found, Refused) if when_failing == "block" else found is SPEC


def test_a_rewrite_changes_what_it_names_and_adds_to_the_options() -> None:
    spec = SessionSpec.from_json({"collection": "default", "prefix": "before", "blocks": [{"domain": "b.example"}]})

    found = rewritten(spec, Rewrite(collection="other", job="job", prefix="after", wishes={"dedup-ok": False}))

    assert (found.collection, found.job, found.options.prefix, found.options.dedup) == ("other", "job", "after", False)
    assert found.options.blocks == spec.options.blocks
    with pytest.raises(Refused, match="job = 'repair-5' names a repair"):
        rewritten(spec, Rewrite(job="repair-5"))


# -- told -------------------------------------------------------------------------------------------------------------


def test_listeners_that_are_too_slow_miss_captures_and_nobody_waits(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, started = threading.Event(), threading.Event()
    told: list[Any] = []

    class Slow(Addon):
        def after_keep(self, capture: Any) -> None:
            started.set()
            going.wait(30)
            told.append(capture)

        def close(self) -> None:
            told.append("closed")

    monkeypatch.setattr(user_addons, "_WAITING", 2)
    at = at_work(Slow, monkeypatch, settings)
    at.kept([1])  # type: ignore[list-item]
    assert started.wait(30)
    at.kept([2, 3, 4, 5])  # type: ignore[list-item]
    going.set()
    at.stop()

    assert told == [1, 2, 3, "closed"]
    assert at.missed == 2


# -- in a proxy -------------------------------------------------------------------------------------------------------


def test_the_example_of_the_documentation_works(tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin) -> None:
    (source,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text("utf-8"), re.MULTILINE | re.DOTALL)[:1]
    home = tmp_path / "home"

    with proxy_with(home, proxy_redis.url, source) as proxy:
        blocked = proxy.get(origin.url("/tracker/1.gif"))
        page, film = proxy.get(origin.url("/page")), proxy.get(origin.url("/film.mp4"))
        listed = home / "kept.txt"
        until(lambda: listed.read_text().count("\n") == 2, what="two lines")
        status = proxy.status()

    assert blocked.status == 403
    assert b"blocked by addon curator: trackers are out of this archive's scope" in blocked.body
    assert origin.asked("/tracker/1.gif") == []
    assert (page.status, film.status) == (200, 200)
    files = {url: name for url, name, _ in (line.split() for line in listed.read_text().splitlines())}
    assert files[origin.url("/film.mp4")].startswith("films-")
    assert not files[origin.url("/page")].startswith("films-")
    assert status["addon_errors"] == {"curator": 0}


def test_an_addon_that_raises_breaks_no_record(tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin) -> None:
    source = """
class addon:
    name, when_failing = "clumsy", "allow"
    def before_connect(self, asked): raise RuntimeError("before")
    def after_keep(self, capture): raise RuntimeError("after")
"""
    with proxy_with(tmp_path / "home", proxy_redis.url, source) as proxy:
        replies = [proxy.get(origin.url(f"/clumsy/{number}")) for number in range(3)]
        until(lambda: proxy.status()["addon_errors"] == {"clumsy": 6}, what="six errors")
        kept = [proxy.kept(origin.url(f"/clumsy/{number}")) for number in range(3)]
        metrics = proxy.metrics()

    assert [reply.status for reply in replies] == [200] * 3
    assert len(kept) == 3
    assert "ghostfleet_addon_errors_total 6.0" in metrics
    assert "addon clumsy failed: RuntimeError: before" in proxy.log.read_text()


def test_a_blocked_url_gets_a_line_in_the_crawl_log(
    tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin
) -> None:
    source = "from proxy.extend import Addon, Block\nclass addon(Addon):\n  def before_connect(self, asked):\n"
    source += "    return Block('not here') if asked.session.job == 'careful' else None\n"
    from support.proxy.running_proxy import credentials

    with proxy_with(tmp_path / "home", proxy_redis.url, source) as proxy:
        session = proxy.session(job="careful", log_dir=str(tmp_path))
        reply = proxy.get(origin.url("/other"), credentials(session))
        other = proxy.get(origin.url("/other"))
        proxy.control("DELETE", f"/sessions/{session['id']}")

    assert (reply.status, other.status) == (403, 200)
    (line,) = (tmp_path / "crawl.log").read_text().splitlines()
    assert line.split()[1] == "-5002"
    assert "blocked-by-addon" in line
