"""The installed Chromium prints a page of our own to PDF.

Chromium is installed wherever ghosts run, and has the fonts of all scripts: a library for PDF would have to bring them.
The policy of the page refuses scripts, and the browser resolves no names. Its profile and the page live in a folder
that is removed afterwards.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from admin.models.errors import IllegalState
from archive.settings.load import Settings
from browsers.engines.chromium.executable import find_chromium
from browsers.engines.interface import BrowserMissing

_SECONDS: Final = 60
_FLAGS: Final = (
    *("--headless", "--disable-gpu", "--no-first-run", "--no-pdf-header-footer", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-extensions"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def pdf_of(html: str, settings: Settings) -> bytes:
    """Return the page as PDF. Raises IllegalState without a browser, or when it takes longer than a minute."""
    try:
        browser = find_chromium(settings.browsers.executable)
    except BrowserMissing as error:
        raise IllegalState(f"the report can't be printed: {error}; or take the CSV") from error
    with tempfile.TemporaryDirectory(prefix="ghostfleet-pdf-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        page, target = folder / "page.html", folder / "page.pdf"
        page.write_text(html, "utf-8", "replace")
        command = [
            str(browser),
            *_FLAGS,
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--user-data-dir={folder / 'profile'}",
            f"--print-to-pdf={target}",
            page.as_uri(),
        ]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise IllegalState(
                f"the browser has not printed the report within {_SECONDS} seconds; take the CSV"
            ) from error
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if not target.is_file():
            raise IllegalState("the browser has printed nothing; take the CSV, or look at browsers.executable")
        return target.read_bytes()
