"""The pages that a package of another program lists are on the viewer's pages, with their titles and texts."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
from support.archive.foreign_warcs import PAGE, by_browsertrix, package_of
from support.browsers.running_viewer import running_viewer
from support.processes.ghostfleet_command import ROOT
from support.processes.waiting import until

from archive.settings.load import Settings

HEAD = {"format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": True}
LISTED = {"id": "page-1", "url": "https://hill.example/", "title": "The hill", "ts": "2026-03-04T05:06:07.890Z"}
BY_LIST = {
    "id": "page-2", "url": "https://hill.example/birds", "title": "Birds", "ts": "2026-03-04T05:06:09Z",
    "text": "Words that the list alone has: goldfinch",
}  # fmt: skip


def seen(client: httpx.Client, path: str) -> str:
    answer = client.get(path, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


def test_a_reader_finds_the_pages_of_an_imported_package(settings: Settings, tmp_path: Path) -> None:
    lines = "".join(f"{json.dumps(each)}\n" for each in (HEAD, LISTED, BY_LIST))
    package = package_of(tmp_path / "hill.wacz", by_browsertrix(), lines)
    command = ["collection", "import", "old", str(package), "--home", str(settings.home)]
    subprocess.run([sys.executable, "-m", "admin.cli", *command], cwd=ROOT, check=True, timeout=100)

    with running_viewer(settings) as viewer, viewer.client() as client:
        assert "/c/old/" in seen(client, "/")
        until(lambda: "The hill" in seen(client, "/c/old/"), what="the pages, which a busy viewer reads bit by bit")
        pages = seen(client, "/c/old/")
        by_list = seen(client, "/?q=goldfinch")
        by_record = seen(client, "/c/old/?q=linnets")
        (play,) = set(re.findall(r'/c/old/play\?url=https://hill\.example/&[^"]*', pages))
        played = client.get("/w/old/20260304050607id_/https://hill.example/")
    assert "Birds" in by_list
    assert "The hill" in by_record
    assert "20260304050607" in play
    assert (played.status_code, played.content) == (200, PAGE)
