"""`dedup` and `deduplicator` as people run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from support.archive.exchanges import exchange, keep
from support.processes.ghostfleet_command import ROOT
from support.stores.redis_server import RedisServer

from archive.settings.load import Settings
from archive.warc.writing.writer import WarcWriter


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", *arguments], capture_output=True, text=True, cwd=ROOT, timeout=100
    )


def test_dedup_shows_originals_and_their_memory(settings: Settings, tmp_path: Path) -> None:
    writer = WarcWriter(settings, "garden")
    keep(writer, exchange())
    writer.close()
    with RedisServer(tmp_path) as server:
        (settings.home / "ghostfleet.toml").write_text(f'[redis]\nurl = "{server.url}"\n')
        home = ("--home", str(settings.home))
        empty = _run("dedup", *home)
        filled = _run("reindex", *home, "garden")
        text, as_json = _run("dedup", *home), _run("dedup", *home, "--json", "garden")
        missing = _run("dedup", *home, "meadow")

    assert "has no originals of these collections" in empty.stdout
    assert filled.returncode == 0, filled.stderr
    assert text.stdout.startswith("garden: the collection's own bucket, sha1: 1 original, ")
    found = json.loads(as_json.stdout)
    assert (found["collection"], found["bucket"], found["originals"]) == ("garden", "", 1)
    assert found["bytes_each"] == found["bytes"] > 50
    assert missing.returncode == 2
    assert "there is no collection meadow" in missing.stderr


def test_a_heritrix_template_is_converted_to_settings(tmp_path: Path) -> None:
    template = tmp_path / "crawler-beans.cxml"
    bean = '<beans><bean class="is.hi.bok.deduplicator.DeDuplicator"><property name="{}" value="{}"/></bean></beans>'
    template.write_text(bean.format("matchingMethod", "DIGEST"))
    done = _run("deduplicator", str(template))
    template.write_text(bean.format("changeContentSize", "true"))
    refused = _run("deduplicator", str(template))

    assert done.stdout.splitlines()[:2] == ["[dedup]", 'match = "digest"']
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "change-content-size = true is not supported" in refused.stderr
