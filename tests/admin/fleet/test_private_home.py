"""Files of a home that a real crawl and the admin make can be read by their owner alone, whatever the umask is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.origins.chain_site import ChainSite

ROOT = Path(__file__).resolve().parents[3]


def run(home: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", *command, "--home", str(home)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.mark.timeout(300)
def test_an_old_home_is_mended_by_a_crawl_and_only_collections_are_for_the_group(tmp_path: Path) -> None:
    os.umask(0o002)  # not an argument of `run`, with which the fork server could not start the commands
    home = tmp_path / "home"
    (home / "logs").mkdir(parents=True)
    (home / "logs" / "old.log").touch()
    for path in (home, home / "logs", home / "logs" / "old.log"):
        path.chmod(0o755)
    with ChainSite(2) as site:
        at = ("--resolve", f"www.example.org=127.0.0.1:{urlsplit(site.url).port}", "--allow-private")
        crawl = ("crawl", "http://www.example.org/", "--collection", "news", "--visitor", "plain", *at)
        given = {"GHOSTFLEET_FRONTIER__MIN_DELAY_SECONDS": "0", "GHOSTFLEET_ARCHIVE__READABLE_BY": "group"}
        done = run(home, *crawl, **given)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("the home gave other users access: 3 files and folders") == 1
    assert run(home, "domain", "list").returncode == 0
    modes = {str(path.relative_to(home)): stat.S_IMODE(path.lstat().st_mode) for path in (home, *home.rglob("*"))}
    assert {modes[name] for name in ("admin.db", "ghostfleet.db", "control.token")} == {0o600}
    public = {"ca/ca.pem", "ca/leaf.spki"}  # clients need both, and find them in a folder of the owner's own
    closed = {name for name, mode in modes.items() if not mode & 0o010 and (home / name).is_dir()}
    shared = {
        name: mode
        for name, mode in modes.items()
        if mode & 0o077 and name not in public and closed.isdisjoint(str(each) for each in Path(name).parents)
    }
    assert shared.pop(".") == 0o710
    assert all(name.startswith("collections") for name in shared), shared
    assert set(shared.values()) == {0o750, 0o640}
    assert any(name.endswith(".warc.gz") for name in shared)
