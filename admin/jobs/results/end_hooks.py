"""Run a command (`--on-end`) and send a POST (`--on-end-url`) at the end of a crawl.

An error of either is one line and does not change the state of the crawl. The POST goes to no crawled site, so it is
sent directly and not through a recording proxy.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from threading import Event
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from archive.program_name import VARIABLE

TRIES: Final = 3
_FIRST_PAUSE: Final = 1.0
_POST_SECONDS: Final = 20.0
_LONGEST_FACT: Final = 8000
_FACTS: Final = (
    *("job", "collection", "status", "reason", "seconds", "pages", "urls", "bytes", "queued", "folder", "archive"),
)
"""The command has these fields of the summary in its environment, as GHOSTFLEET_JOB and so on."""


class HookError(ValueError):
    """The URL can't be used. The message does not show the URL, which may hold a secret."""


def check_url(url: str) -> None:
    """Raise HookError when the URL can't be used for a POST."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise HookError("--on-end-url is not an http or https URL; write for instance https://example.org/hook")


def run_command(command: str, facts: Mapping[str, Any], home: str, *, seconds: float) -> str:
    """Run a shell command with the summary as JSON on its standard input; return the error, empty after a success.

    After `seconds` the command and all its children are killed. Its output goes to our standard error.
    """
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment |= {f"GHOSTFLEET_{name.upper()}": _text(facts[name]) for name in _FACTS if name in facts}
    environment["GHOSTFLEET_HOME"] = home
    shell = ["/bin/sh", "-c", command]
    try:
        process = subprocess.Popen(
            shell, stdin=subprocess.PIPE, stdout=sys.stderr, env=environment, start_new_session=True
        )
    except OSError as error:
        return f"the command of --on-end can't be started: {error.strerror}"
    try:
        process.communicate(json.dumps(facts, ensure_ascii=False, default=str).encode() + b"\n", timeout=seconds)
    except subprocess.TimeoutExpired:
        return (
            f"the command of --on-end was killed after {seconds:.0f} s; raise admin.on_end_seconds if it needs longer"
        )
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode == 0:
        return ""
    how = f"ended with code {process.returncode}"
    if process.returncode < 0:
        how = f"was killed by {signal.Signals(-process.returncode).name}"
    return f"the command of --on-end {how}"


def post(url: str, facts: Mapping[str, Any]) -> str:
    """Send the summary as JSON by POST, with up to three tries; return the error, empty after a success.

    Redirects are not followed. The error shows only scheme and host of the URL, because the rest may be a secret.
    """
    parts = urlsplit(url)
    shown = f"{parts.scheme}://{parts.hostname}"
    problem, pause = "", Event()
    body = json.dumps(facts, ensure_ascii=False, default=str).encode()
    with httpx.Client(timeout=_POST_SECONDS, follow_redirects=False, trust_env=False) as client:
        for attempt in range(TRIES):
            if attempt:
                pause.wait(_FIRST_PAUSE * 2 ** (attempt - 1))
            try:
                with client.stream("POST", url, content=body, headers={"Content-Type": "application/json"}) as answer:
                    status = answer.status_code
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                problem = type(error).__name__
                continue
            if status < 300:
                return ""
            problem = f"answered {status}"
            if status < 500 and status not in (408, 429):
                break
    return f"the POST of --on-end-url to {shown} failed: {problem}"


def _text(value: Any) -> str:
    """Return the value as text for an environment variable, cut at 8,000 characters."""
    return str(value).replace("\0", "")[:_LONGEST_FACT]
