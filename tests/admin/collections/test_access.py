"""`collection access` as people run it, and what readers of replay and of the CDX server then see."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

from support.archive.exchanges import DATE, exchange, keep
from support.processes.ghostfleet_command import ROOT
from support.proxy.running_proxy import RunningProxy

from archive.access_rules import CURATION_FILE, LICENCE_FILE, Access, AccessRules, rule_for
from archive.settings.load import Settings
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import Sidecars

SITE = "http://example.org"


def _access(home: Path, verb: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", "collection", "access", verb, "news", *map(str, arguments), "--home", home],
        capture_output=True, text=True, cwd=ROOT, timeout=100, check=False,
    )  # fmt: skip


def _done(home: Path, verb: str, *arguments: str | Path) -> str:
    done = _access(home, verb, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_readers_of_replay_and_of_the_cdx_server_see_what_the_rules_allow(settings: Settings, tmp_path: Path) -> None:
    writer = WarcWriter(settings, "news")
    for number, path in enumerate(("/open", "/hidden/a", "/blocked", "/later")):
        keep(writer, exchange(path, id=f"exchange-{number}", started=DATE + number))
    writer.close()
    with Captures(settings.database_url) as captures:
        Sidecars(settings.home, captures).reconcile("news")
    _done(settings.home, "add", "exclude", f"{SITE}/hidden/")
    _done(settings.home, "add", "block", f"{SITE}/blocked", "--exact")
    with RunningProxy(settings.home, {"proxy.mode": "replay", "proxy.collection": "news"}) as proxy:

        def listed() -> list[str]:
            question = f"http://{proxy.ready['cdx']}/news/cdx?url=*.example.org&fl=url&output=text"
            with urllib.request.urlopen(question, timeout=30) as answer:
                return [line.decode().strip().removeprefix(SITE) for line in answer]

        assert {path: proxy.get(SITE + path).status for path in ("/open", "/hidden/a", "/blocked", "/later")} == {
            "/open": 200, "/hidden/a": 404, "/blocked": 451, "/later": 200,
        }  # fmt: skip
        assert listed() == ["/blocked", "/later", "/open"]
        _done(settings.home, "add", "exclude", f"{SITE}/later")
        _done(settings.home, "remove", f"{SITE}/hidden/")
        assert [proxy.get(SITE + path).status for path in ("/hidden/a", "/later")] == [200, 404]
        assert listed() == ["/blocked", "/hidden/a", "/open"]
        (settings.collection("news") / "access.aclj").write_text("spoilt\n")
        assert proxy.get(f"{SITE}/open").status == 503


def test_rules_are_listed_imported_replaced_and_tried(settings: Settings, tmp_path: Path) -> None:
    settings.archive_dir("news").mkdir(parents=True)
    (tmp_path / "pywb.aclj").write_text('org,example)/a - {"access": "exclude", "url": "http://example.org/a"}\n')
    assert _done(settings.home, "import", tmp_path / "pywb.aclj") == "news: 1 rule imported\n"
    _done(settings.home, "add", "block", f"{SITE}/a")
    _done(settings.home, "default", "allow", "--embargo-before", "2021")
    default, rule = (json.loads(line) for line in _done(settings.home, "list", "--json").splitlines())
    assert (default["default"], default["embargo"]["before"][:4]) == ("allow", "2021")
    assert (rule["key"], rule["access"]) == ("org,example)/a", "block")
    assert _done(settings.home, "match", f"{SITE}/a/b") == "block\n"
    assert _done(settings.home, "match", f"{SITE}/b", "--date", "2020") == "exclude\n"


def test_what_curation_and_licences_hide_is_not_said_to_be_shown(settings: Settings) -> None:
    settings.archive_dir("news").mkdir(parents=True)
    hidden = rule_for("*.hidden.example", Access.EXCLUDE)
    AccessRules([hidden]).save(settings.collection("news") / CURATION_FILE)
    AccessRules([rule_for("*.refused.example", Access.BLOCK)]).save(settings.home / "collections" / LICENCE_FILE)
    hosts = ("shown.example", "hidden.example", "refused.example")
    assert [_done(settings.home, "match", host) for host in hosts] == ["allow\n", "exclude\n", "allow\n"]
    (settings.home / "ghostfleet.toml").write_text("[curation]\nlicences_bind_readers = true\n")
    assert [_done(settings.home, "match", host) for host in hosts] == ["allow\n", "exclude\n", "block\n"]
    (settings.collection("news") / CURATION_FILE).write_text("spoilt\n")
    done = _access(settings.home, "match", "shown.example")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr


def test_bad_input_is_one_line(settings: Settings, tmp_path: Path) -> None:
    settings.archive_dir("news").mkdir(parents=True)
    (tmp_path / "bad.aclj").write_text("no rule\n")
    for arguments in (
        ("add", "exclude", "http://"),
        ("add", "exclude", "*.example.org", "--exact"),
        ("add", "exclude", "*.example.org/private/"),
        ("add", "exclude", "example.org", "--before", "soon"),
        ("remove", "example.org"),
        ("import", tmp_path / "bad.aclj"),
    ):
        done = _access(settings.home, *map(str, arguments))
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
