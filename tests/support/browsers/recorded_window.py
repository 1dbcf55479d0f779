"""The command `record` with a window that a program steers in place of a person."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from bench.process import our_command, source_environment
from support.processes.machine_needs import free_port
from support.processes.waiting import until

LONG = 90_000
"""Milliseconds in which a window shows its first page, on a slow machine too."""


@contextmanager
def recording(
    home: Path, *arguments: str, collection: str = "hand"
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any], str]]:
    """Run `record` with a window that a program steers; yield the process, its first line and the port."""
    port = free_port()
    command = our_command(
        "record", collection, *arguments, "--headless", "--json", "--allow-private", "--debugging-port", str(port),
        "--home", str(home),
    )  # fmt: skip
    process = subprocess.Popen(command, env=source_environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline()), f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=90)


@contextmanager
def steered(address: str) -> Iterator[tuple[Browser, Page]]:
    """Steer the window at this address, which opens with a URL; yield its browser and its first page, loaded."""

    def answers() -> bool:
        try:
            return httpx.get(f"{address}/json/version").is_success
        except httpx.TransportError:
            return False

    until(answers, what="the window", within=60)
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(address, timeout=LONG)
        context = browser.contexts[0]
        page = context.pages[0] if context.pages else context.wait_for_event("page", timeout=LONG)
        page.wait_for_url(lambda url: url.startswith("http"), timeout=LONG)
        yield browser, page


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The last line of the command, which must end well."""
    out, _ = process.communicate(timeout=90)
    assert process.returncode == 0, out
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found
