"""The crawl of scrapy goes through its proxy, and lasts until the proxy has ended. Both programs are stand-ins."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from support.processes.waiting import until

from bench.peers import scrapy_crawl, warcprox

PROXY = """
import signal, socket, sys, threading
from pathlib import Path
folder = Path(sys.argv[sys.argv.index("--dir") + 1])
folder.mkdir()
pause = threading.Event()
def end(*_):
    (folder / "asked-to-end").touch()
    while not (folder / "may-end").exists():
        pause.wait(0.01)
    sys.exit()
signal.signal(signal.SIGTERM, end)
with socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1]))) as listener:
    while True:
        listener.accept()[0].close()
"""
SPIDER = """
import sys
from urllib.request import getproxies, proxy_bypass
print(getproxies()["http"], bool(proxy_bypass("host-1.crawl-bench.test")))
"""


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> scrapy_crawl.ScrapyCrawl:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "crawl-bench.test")
    for name, requirements, program in (
        ("warcprox", warcprox.REQUIREMENTS, PROXY),
        ("scrapy", scrapy_crawl.SCRAPY, SPIDER),
    ):
        python = tmp_path / "ghostfleet-bench" / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f"#!{sys.executable}\n{program}", "utf-8")
        python.chmod(0o755)
        (python.parents[1] / "installed.txt").write_text("\n".join(requirements), "utf-8")
    seeds = tmp_path / "seeds.txt"
    seeds.touch()
    return scrapy_crawl.ScrapyCrawl(tmp_path, seeds, 1, address="127.0.1.1", domain="crawl-bench.test")


def test_the_crawl_lasts_until_the_proxy_has_ended(crawl: scrapy_crawl.ScrapyCrawl) -> None:
    def wait() -> bool:
        with suppress(subprocess.TimeoutExpired):
            crawl.wait(0.05)
        return (crawl.warcs / "asked-to-end").exists()

    try:
        until(wait, what="the proxy to be asked to end")
        assert crawl.poll() is None
        (crawl.warcs / "may-end").touch()
        until(lambda: wait() and crawl.poll() is not None, what="the end of the crawl")
    finally:
        (crawl.warcs / "may-end").touch()
        crawl.close()
    assert crawl.poll() == 0
    proxy, is_bypassed = crawl.log.read_text("utf-8").split()
    assert proxy.startswith("http://127.0.0.1:")
    assert is_bypassed == "False"
