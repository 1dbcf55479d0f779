"""ReplayWeb.page, the player, is a separate work (AGPL-3.0-or-later). It is never a part of this program.

A viewer that starts without the npm package fetches one version of it, whose checksum is known, into the home. A
command and a button of the admin site do the same; a setting can name a folder or a tarball that has it. The viewer
serves its files as they are, beside its licence.
"""

from __future__ import annotations

import base64
import hashlib
import io
import logging
import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archive.program_name import command
from archive.settings.load import Settings

log = logging.getLogger(__name__)

PACKAGE: Final = "replaywebpage"
VERSION: Final = "2.5.3"
INTEGRITY: Final = "sha512-nCj2PSON3BxeSJKE8AsYPyULv0XPZKJWfy4l9PyQre9SqwLZ+WKZVs/sfLqPOQ4GrH+0YkjbwOhr8cSTH08gsQ=="
"""The digest that npm gives for the package's tarball (Subresource Integrity)."""
UI_FILE: Final = "ui.js"
WORKER_FILE: Final = "sw.js"
LICENSE_FILE: Final = "LICENSE"
_FILES: Final = (UI_FILE, WORKER_FILE, LICENSE_FILE, "README.md", "package.json")
_MOST_FILE: Final = 20_000_000
_MOST_TARBALL: Final = 100_000_000
_NPM_SECONDS: Final = 300
BESIDE_SECONDS: Final = 90.0
"""npm has so long while a viewer starts, or while a person waits for the answer of a page."""
_POLL_SECONDS: Final = 0.1
_VERSION: Final = re.compile(rb'"version"\s*:\s*"([0-9A-Za-z.+-]{1,40})"')


class PlayerRefused(Exception):
    """The player can't be used. The message is one line with the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class Player:
    """The player's files stand in this folder."""

    folder: Path
    version: str


def installed_folder(settings: Settings) -> Path:
    """Return where `ghostfleet view --fetch-player` keeps the player."""
    return settings.home / "player" / f"{PACKAGE}-{VERSION}"


def find_player(settings: Settings) -> Player:
    """Return the player of the settings, or the one that was fetched. Raises PlayerRefused, which says what to do."""
    named = settings.view.player
    if not named:
        folder = installed_folder(settings)
        if not folder.is_dir():
            raise PlayerRefused(
                "the player is not here yet; load this page again in a minute, or fetch the player: on the collection's"
                f" page of the admin site, or by `{command('view --fetch-player')}`"
            )
        return _player_in(folder)
    path = Path(named).expanduser()
    if not path.is_file():
        return _player_in(path / "package" if (path / "package").is_dir() else path)
    folder = installed_folder(settings)
    if not folder.is_dir():
        unpack_player(path, folder)
    return _player_in(folder)


def fetch_player(settings: Settings, seconds: float = _NPM_SECONDS, stops: threading.Event | None = None) -> Player:
    """Fetch the package by npm, check it, and keep its files in the home. Raises PlayerRefused and OSError.

    npm asks the registry of its own configuration. Nothing of the package is run. npm is ended after so many seconds,
    and when `stops` is set.
    """
    folder = installed_folder(settings)
    npm = shutil.which("npm")
    if npm is None:
        raise PlayerRefused("npm is not installed; install it, or set view.player to the package's tarball or folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as room:
        code, said = _pack(npm, room, seconds, stops or threading.Event())
        tarballs = list(Path(room).glob("*.tgz"))
        if code or len(tarballs) != 1:
            lines = [line for line in said.splitlines() if line.strip()] or ["it wrote no tarball"]
            raise PlayerRefused(f"npm could not fetch {PACKAGE}@{VERSION}: {lines[-1].strip()[:300]}")
        unpack_player(tarballs[0], folder)
    return _player_in(folder)


def _pack(npm: str, room: str, seconds: float, stops: threading.Event) -> tuple[int, str]:
    """Run `npm pack` in a folder. Return its exit code, and what it said. Raises PlayerRefused after the time."""
    ends = time.monotonic() + seconds
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said,
        subprocess.Popen(
            [npm, "pack", "--ignore-scripts", "--silent", f"{PACKAGE}@{VERSION}"],
            cwd=room,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        ) as process,
    ):
        try:
            while process.poll() is None:
                if stops.wait(_POLL_SECONDS):
                    raise PlayerRefused("the viewer ended before the player was fetched")
                if time.monotonic() > ends:
                    raise PlayerRefused(f"npm did not answer within {seconds:.0f} s; check its registry, and repeat")
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        said.seek(0)
        return process.returncode, said.read()


class PlayerFetch:
    """Fetches the player beside a viewer that has none. A failure is one line in the log; nothing waits for npm."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stops = threading.Event()
        self._thread = threading.Thread(target=self._run, name="player", daemon=True)

    def start(self) -> None:
        """Begin, unless the player is here, or was named by a setting, or is not to be fetched."""
        if self._settings.view.fetch_player and not self._settings.view.player and not _is_here(self._settings):
            self._thread.start()

    def stop(self) -> None:
        """End npm if it runs."""
        self._stops.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            player = fetch_player(self._settings, BESIDE_SECONDS, self._stops)
        except (PlayerRefused, OSError) as error:
            if not self._stops.is_set():
                log.warning("archived pages are shown without scripts and pictures of other addresses: %s", error)
            return
        log.info("the player ReplayWeb.page %s is in %s", player.version, player.folder)


def _is_here(settings: Settings) -> bool:
    try:
        find_player(settings)
    except PlayerRefused:
        return False
    return True


def unpack_player(tarball: Path, folder: Path) -> None:
    """Check the tarball, and put the player's files into the folder in one step. Raises PlayerRefused."""
    try:
        if tarball.stat().st_size > _MOST_TARBALL:
            raise PlayerRefused(f"{tarball.name} is too large to be {PACKAGE} {VERSION}")
        data = tarball.read_bytes()
    except OSError as error:
        raise PlayerRefused(f"{tarball} can't be read: {error.strerror}") from error
    if integrity(data) != INTEGRITY:
        raise PlayerRefused(f"{tarball.name} is not {PACKAGE} {VERSION}: its checksum differs; fetch it again")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpack-") as room:
        fresh = Path(room) / "player"
        fresh.mkdir()
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as package:
            for name in _FILES:
                found = package.extractfile(f"package/{name}")
                if found is not None:
                    (fresh / name).write_bytes(found.read(_MOST_FILE))
        if folder.is_dir():
            shutil.rmtree(folder)
        os.replace(fresh, folder)


def integrity(data: bytes) -> str:
    """Return the checksum of the bytes in npm's form."""
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()


def _player_in(folder: Path) -> Player:
    missing = [name for name in (UI_FILE, WORKER_FILE, LICENSE_FILE) if not (folder / name).is_file()]
    if missing:
        raise PlayerRefused(
            f"view.player = {str(folder)!r} lacks {', '.join(missing)}; name the folder of the npm package {PACKAGE}"
        )
    try:
        with (folder / "package.json").open("rb") as file:
            found = _VERSION.search(file.read(65_536))
    except OSError:
        found = None
    return Player(folder, found[1].decode() if found else "unknown")
