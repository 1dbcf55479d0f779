"""The tutorial quotes what its commands print. Numbers, sizes, times and random names may differ."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes.waiting import until
from support.web.doc_pages import TOP, console_lines

TEXT = (TOP / "docs" / "tutorial" / "first-crawl.md").read_text("utf-8")
CRAWL = "./run crawl http://localhost:8085/ --collection meadow --allow-private"


def shape(line: str) -> str:
    """Return the line with a letter for each part that differs from run to run."""
    line = re.sub(r"\S*/(?=ghostfleet-data/)", "", line)
    line = re.sub(r"meadow-[0-9a-f]{8}-\d{14}", "JOB", line)
    line = re.sub(r"meadow-\d{17}-\S+\.warc\.gz", "FILE", line)
    line = re.sub(r", (\d+ hosts? )?waiting.*", "", line)
    line = re.sub(r"\b(page|URL)\b", r"\1s", line)
    line = re.sub(r"[\d.]+ k?B\b", "SIZE", line)
    return re.sub(r"\d+", "N", " ".join(line.split()))


def quoted(heading: str) -> list[str]:
    """Return the lines of output that the section quotes: those in text blocks, and those below a command."""
    section = TEXT.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(console|text)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    lines = [line for _, block in blocks for line in block.splitlines() if not line.startswith("$ ")]
    return [shape(line) for line in lines if line and not line.startswith("ghostfleet: ")]


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def site(tmp_path: Path, port: int) -> Iterator[int]:
    """The site of the tutorial, on a free port, made by the tutorial's own commands."""
    making = [line for line in console_lines(TEXT) if line.startswith(("mkdir", "echo"))]
    subprocess.run("\n".join(making), shell=True, cwd=tmp_path, check=True)
    serving = ["-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", "site"]
    with subprocess.Popen([sys.executable, *serving], cwd=tmp_path, stderr=subprocess.DEVNULL) as server:
        until(lambda: answers(port), what="the site")
        yield port
        server.terminate()


def typed(line: str, folder: Path, port: int) -> list[str]:
    """Run a command of the tutorial; return the lines that it prints, in the shape of the page's."""
    words = shlex.split(line.replace("8085", str(port)))
    done = subprocess.run(
        [sys.executable, "-m", "admin.cli", *words[1:]],
        cwd=folder,
        env={**os.environ, "GHOSTFLEET_TYPED": "./run", "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [shape(printed) for printed in (done.stdout + done.stderr).splitlines()]


def test_the_output_on_the_page_is_what_the_commands_print(site: int, tmp_path: Path) -> None:
    assert CRAWL in TEXT

    first = typed(f"{CRAWL} --delay 0", tmp_path, site)
    typed(f"{CRAWL} --delay 0", tmp_path, site)
    checked = typed("./run check meadow", tmp_path, site)
    shown = typed("./run collection show meadow", tmp_path, site)

    lines = [line for line in quoted("2.") if not line.startswith("waiting for ")]
    assert len(lines) > 8
    assert [line for line in lines if line not in first] == []
    assert checked == quoted("5.")
    assert shown == quoted("6.")
