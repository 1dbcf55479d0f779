"""The command `record` captures by hand in a window; `session work` records for people's own browsers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from admin.collections.names import CollectionName
from admin.commands.processes.database_role import work_until_signal
from admin.options import (
    InputError,
    JobFailed,
    child_options,
    common,
    fetching,
    fetching_settings,
    load_settings,
    say_mended,
)
from archive.program_name import command

if TYPE_CHECKING:
    from collections.abc import Callable

    from admin.capture_sessions.process import RunningProxy
    from admin.capture_sessions.recording import CaptureRecording
    from admin.capture_sessions.sessions import CaptureSessionView
    from admin.models.database import Database
    from archive.settings.load import Settings

_TICK_SECONDS: Final = 0.5
_TELL_SECONDS: Final = 2.0
_BROWSER_END_SECONDS: Final = 45.0
_SHOWN_PAGES: Final = 50
_SHOWN_SECRETS: Final = 10
_MOST_COLUMNS: Final = 110
_QUIET_FIREFOX: Final = {
    "MOZ_CRASHREPORTER_DISABLE": "1",
    "MOZ_DATA_REPORTING": "0",
    "MOZ_REMOTE_SETTINGS_DEVTOOLS": "1",  # else Firefox asks Mozilla for settings, whatever its preferences say
}


@click.command("record")
@click.argument("collection", type=CollectionName())
@click.argument("url", required=False)
@click.option("--title", default="", metavar="TEXT", help="Title of the session.")
@click.option("--resume", type=int, metavar="NUMBER", help="Go on with this session, in the window's earlier profile.")
@click.option("--keep-secrets", is_flag=True, help="Record passwords and Authorization headers.")
@click.option("--no-cookies", is_flag=True, help="Record no cookies of requests and responses.")
@click.option(
    "--browser",
    type=click.Choice(("chromium", "firefox")),
    default="chromium",
    help="Browser of the window.  [chromium]",
)
@click.option(
    "--save-login",
    metavar="NAME",
    help="Keep the cookies and the storage of the window at its end, encrypted, as a login for crawls. Chromium only.",
)
@click.option("--headless", is_flag=True, help="Open no visible window; for programs that steer the browser.")
@click.option(
    "--debugging-port", type=click.IntRange(0, 65535), metavar="PORT", help="Port at which programs steer the browser."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines: one when the window is open, one at the end.")
@common
@fetching
def record(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    url: str | None,
    title: str,
    resume: int | None,
    keep_secrets: bool,
    no_cookies: bool,
    browser: Literal["chromium", "firefox"],
    save_login: str | None,
    headless: bool,
    debugging_port: int | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Capture by hand into a COLLECTION, in a browser window that opens at URL.

    The window has a profile of its own, and fetches through a recording proxy. A line shows what is kept. The session
    ends when the window is closed or with Ctrl-C: its WARC files are closed and its pages are listed. Passwords are not
    recorded.

    \b
    Exit codes:
      0    the session has ended, and all that the window showed as kept is in the collection
      1    ended early: the proxy could not go on, a file can't be used, another process ended the session while this
           one was stopped, or the folder of the collection was removed; else, what was kept until then is in the
           collection
      2    bad input, no window can be opened, or the session is open in another window
    """
    from contextlib import closing

    from admin.capture_sessions.recording import Taken
    from admin.models.database import open_database
    from admin.models.errors import UseCaseError

    settings = load_settings(home, settings_file, fetching_settings(given))
    say_mended(settings)
    _check_login(settings, browser, save_login)
    executable = _executable(settings, browser, is_visible=not headless)
    try:
        with closing(open_database(settings)) as database:
            number = _session(database, collection, title, resume, keep_secrets=keep_secrets, no_cookies=no_cookies)
            kind = _ChromiumWindow if browser == "chromium" else _FirefoxWindow
            window = kind(settings, database, number, executable, is_visible=not headless, port=debugging_port)
            return window.run(url or "about:blank", as_json=as_json, login=save_login)
    except (UseCaseError, Taken) as error:
        raise InputError(str(error)) from error


@click.command("work")
@common
@child_options
def work(home: Path | None, settings_file: Path | None, **given: Any) -> None:
    """Record for the capture sessions of people's own browsers, until SIGTERM or Ctrl-C.

    `ghostfleet up` runs this process. It starts a recording proxy while sessions are open.

    \b
    Exit codes:
      0  ended by a signal
      2  refused: the database can't be used, or has another version
    """
    settings = load_settings(home, settings_file, {})
    say_mended(settings)
    from admin.capture_sessions.process import CaptureProcess

    work_until_signal(settings, given, "capture", CaptureProcess)


class _Window(ABC):
    """A window of a browser whose traffic is recorded, until the window is closed or a signal comes."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        number: int,
        executable: Path,
        *,
        is_visible: bool,
        port: int | None,
    ) -> None:
        self._settings, self._database, self._number = settings, database, number
        self._executable, self._is_visible, self._port = executable, is_visible, port
        self._disconnect: Callable[[], None] = lambda: None
        """Closes the connection to the browser, when there is one."""
        self._told = self._told_trouble = ""
        self._last_line = 0.0

    def run(self, url: str, *, as_json: bool, login: str | None = None) -> int:
        """Record until the end, save the login, and list what was kept. Return the exit code."""
        from admin.capture_sessions.process import ProxyMissing, running_proxy, tick_steadily
        from admin.capture_sessions.recording import CaptureRecording, FolderRemoved, Taken, check_free
        from admin.fleet.home_folder import HomeError
        from admin.fleet.process import StartInterrupted
        from admin.jobs.interrupts import Interrupts
        from admin.qa.leases import new_owner
        from browsers.visit import FleetUnavailable

        browser: subprocess.Popen[bytes] | None = None
        trouble = ""
        with Interrupts() as interrupts:
            try:
                check_free(self._database, self._number)
                with running_proxy(self._settings, _say, lambda: interrupts.asked_to_stop, is_window=True) as proxy:
                    recording = CaptureRecording(
                        self._settings, self._database, proxy.control, new_owner(), self._number
                    )
                    try:
                        recording.tick()
                        browser = self._open(proxy, recording, url, as_json=as_json)
                        while browser.poll() is None and not interrupts.wait(_TICK_SECONDS):
                            tick_steadily(recording, is_serving=proxy.tick())
                            self._tell(recording)
                            if not recording.has_live:
                                break  # the session was ended elsewhere, or its time was over
                    finally:
                        if browser is not None:
                            _end(browser)
                        self._disconnect()
                        if (log := recording.log_of(self._number)) is not None and log.is_behind:
                            _say("the long log of the session is counted to its end; this takes a while")
                        recording.close()
            except Taken as error:
                if browser is None:
                    raise
                trouble = str(error)
            except (ProxyMissing, StartInterrupted, FolderRemoved, FleetUnavailable, HomeError, OSError) as error:
                trouble = str(error)
            except Exception as error:
                self._end_session(str(error))
                raise
        self._end_session(trouble)
        login = login if browser is not None else None
        unsaved = ""
        if login is not None:
            unsaved = _save_login(self._settings, self._database, self._view(), self._executable, login)
        code = self._show_end(trouble, as_json=as_json, login=None if unsaved else login)
        if unsaved:
            raise JobFailed(unsaved)
        return code

    def _open(
        self, proxy: RunningProxy, recording: CaptureRecording, url: str, *, as_json: bool
    ) -> subprocess.Popen[bytes]:
        from admin.capture_sessions.recording import Taken

        address = recording.address_of(self._number)
        if address is None:
            found = self._view()
            raise Taken(f"no window was opened: capture session {found.id} is {found.state}. {found.error}".strip())
        profile = self._profile()
        flags = self._prepare(profile, address, proxy.addresses.proxy)
        process = self._launch([*flags, url], recording)
        found = self._view()
        if as_json:
            facts = {"recording": True, "session": found.id, "collection": found.collection, "proxy": address}
            click.echo(json.dumps({**facts, "browser_pid": process.pid, "profile": str(profile)}))
        else:
            _say(f"session {found.id} records into {found.collection}; close the window or press Ctrl-C to end")
        return process

    def _launch(self, arguments: list[str], recording: CaptureRecording) -> subprocess.Popen[bytes]:
        """Start the browser in a process group of its own."""
        return subprocess.Popen(
            [self._executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, **_QUIET_FIREFOX},
        )

    @abstractmethod
    def _profile(self) -> Path:
        """Return the profile folder of the window."""

    @abstractmethod
    def _prepare(self, profile: Path, address: str, main_port: str) -> list[str]:
        """Make the profile, and return the arguments of the browser. `address` is the port of the session."""

    def _tell(self, recording: CaptureRecording) -> None:
        """Print a line when something new was kept."""
        if (trouble := recording.trouble_of(self._number)) != self._told_trouble:
            self._told_trouble = trouble
            _say(trouble or "all that is fetched is kept again")
        log = recording.log_of(self._number)
        if log is None or time.monotonic() - self._last_line < _TELL_SECONDS:
            return
        parts = [f"{log.pages} pages", f"{log.urls} URLs", f"{log.bytes / 1e6:.1f} MB", f"{log.known} known already"]
        if log.failed:
            parts.append(f"{log.failed} failed")
        newest = f"; {log.last[-1].url}" if log.last else ""
        line = (", ".join(parts) + newest)[:_MOST_COLUMNS]
        if line != self._told:
            self._told, self._last_line = line, time.monotonic()
            _say(line)

    def _show_end(self, trouble: str, *, as_json: bool, login: str | None) -> int:
        from admin.capture_sessions import sessions
        from admin.models.transaction import COMMAND_LINE

        found = self._view()
        with self._database.reading(COMMAND_LINE) as reading:
            pages = sessions.list_pages(reading, self._number, limit=_SHOWN_PAGES)
        if as_json:
            listed = [{"url": page.url, "title": page.title} for page in pages.items]
            click.echo(
                json.dumps({"ended": True, **found.model_dump(mode="json"), "listed_pages": listed, "login": login})
            )
        else:
            if found.failed:
                click.echo(f"{found.failed} requests failed")
            click.echo(
                f"session {found.id}: {found.pages} pages, {found.urls} URLs ({found.known} known already),"
                f" {found.bytes / 1e6:.1f} MB"
            )
            for page in pages.items:
                click.echo(f"  {page.url}" + (f"  {page.title}" if page.title else ""))
            for shown in found.shown_secrets[:_SHOWN_SECRETS]:
                click.echo(f"the response of {shown} shows a secret that was typed, and is recorded as it came")
            if len(found.shown_secrets) > _SHOWN_SECRETS:
                click.echo(f"so do further ones; {command(f'session show {found.id}')} lists them")
            if found.pages > len(pages.items):
                click.echo(f"  and {found.pages - len(pages.items)} more: {command(f'session list-pages {found.id}')}")
            if login is not None:
                click.echo(f"The login was saved as {login}; the profile of a crawl can name it (browser_profile).")
            click.echo(f"Look at it: {command(f'open {found.collection}')}")
            click.echo(f"Go on:      {command(f'record {found.collection} --resume {found.id}')}")
        if trouble:
            raise JobFailed(f"the recording ended early: {trouble}")
        return 0

    def _end_session(self, trouble: str) -> None:
        """End the session in the database; its WARC files are closed already."""
        from admin.capture_sessions import recording

        recording.end_closed(self._database, self._number, trouble)

    def _view(self) -> CaptureSessionView:
        from admin.capture_sessions import sessions
        from admin.models.transaction import COMMAND_LINE

        with self._database.reading(COMMAND_LINE) as reading:
            return sessions.show(reading, self._number)


class _ChromiumWindow(_Window):
    """A window of Chromium. Pictures of its pages are taken over pipes."""

    def _profile(self) -> Path:
        return profile_folder(self._settings, self._number)

    def _prepare(self, profile: Path, address: str, main_port: str) -> list[str]:
        from browsers.engines.chromium.flags import recorded_window_flags
        from browsers.engines.chromium.profile_folder import prepare_window_profile
        from browsers.engines.chromium.trust import trusted_keys

        prepare_window_profile(profile)
        trusted = trusted_keys(self._settings.home, main_port)
        flags = recorded_window_flags(trusted, address, str(profile), is_visible=self._is_visible)
        flags.append("--remote-debugging-pipe")
        if not _has_sandbox(self._settings):
            flags.append("--no-sandbox")
        if self._port is not None:
            flags.append(f"--remote-debugging-port={self._port}")
        return flags

    def _launch(self, arguments: list[str], recording: CaptureRecording) -> subprocess.Popen[bytes]:
        from browsers.remote.recorded_window import WindowPictures, start_window

        process, from_browser, to_browser = start_window(self._executable, arguments, os.environ)
        try:
            pictures = WindowPictures(
                from_browser, to_browser, lambda url, png: recording.keep_picture(self._number, url, png)
            )
        except BaseException:
            _end(process)  # the caller does not know the window yet
            raise
        self._disconnect = pictures.close
        return process


class _FirefoxWindow(_Window):
    """A window of Firefox."""

    def _profile(self) -> Path:
        return profile_folder(self._settings, self._number) / "firefox"

    def _prepare(self, profile: Path, address: str, main_port: str) -> list[str]:
        from browsers.engines.firefox.window_profile import prepare_firefox_window
        from browsers.proxying.authority import authority_of
        from browsers.visit import FleetUnavailable

        try:
            authority = authority_of(self._settings.home, main_port)
            prepare_firefox_window(profile, self._executable, address, authority)
        except FleetUnavailable as error:
            raise InputError(f"Firefox can't be told to trust the recording proxy ({error}); use Chromium") from error
        flags = ["--no-remote", "--profile", str(profile)]
        if not self._is_visible:
            flags.append("--headless")
        if self._port is not None:
            flags.append(f"--remote-debugging-port={self._port}")
        return flags


def _has_sandbox(settings: Settings) -> bool:
    """Return whether Chromium shall use its sandbox, which root can't."""
    return os.geteuid() != 0 and settings.browsers.sandbox


def _save_login(
    settings: Settings, database: Database, session: CaptureSessionView, executable: Path, name: str
) -> str:
    """Keep the login of a closed window; return the reason why that failed, or an empty text."""
    import asyncio

    from admin.capture_sessions import sessions
    from admin.models.transaction import COMMAND_LINE
    from archive.dates import now_micros
    from browsers.logins.profile_store import ProfileStore, ProfileUnusable
    from browsers.remote.profile_login import LoginUnreadable, login_of_profile

    with database.reading(COMMAND_LINE) as reading:
        urls = sessions.page_urls(reading, session.id)
    profile, has_sandbox = profile_folder(settings, session.id), _has_sandbox(settings)
    try:
        login = asyncio.run(login_of_profile(executable, profile, name, urls, now_micros(), sandbox=has_sandbox))
        ProfileStore(settings.home).save(login)
    except (LoginUnreadable, ProfileUnusable) as error:
        again = command(f"record {session.collection} --resume {session.id} --save-login {name}")
        return f"{error}; `{again}` tries again"
    return ""


def _check_login(settings: Settings, browser: str, name: str | None) -> None:
    """Raise InputError when no login of this name can be saved."""
    from browsers.logins.profile_store import ProfileStore, ProfileUnusable

    if name is None:
        return
    if browser != "chromium":
        raise InputError("--save-login needs Chromium; export the cookies of Firefox by an extension, and import them")
    try:
        ProfileStore(settings.home).check_name(name)
    except ProfileUnusable as error:
        raise InputError(f"--save-login: {error}") from error


def profile_folder(settings: Settings, number: int) -> Path:
    """Return the folder of the browser's profile of a session. It has cookies, so that the owner alone can read it."""
    return settings.home / "windows" / str(number)


def _session(
    database: Database, collection: str, title: str, resume: int | None, *, keep_secrets: bool, no_cookies: bool
) -> int:
    """Make a session, or open an ended one again; return its number. Raises UseCaseError, Taken and InputError."""
    from admin.capture_sessions import sessions
    from admin.capture_sessions.recording import end_left
    from admin.capture_sessions.sessions import NewCaptureSession
    from admin.models.capture_tables import CaptureDoor, CaptureState
    from admin.models.transaction import COMMAND_LINE

    if resume is None:
        given = NewCaptureSession(
            collection=collection, title=title, keeps_secrets=keep_secrets, keeps_cookies=not no_cookies
        )
        with database.transaction(COMMAND_LINE) as transaction:
            return sessions.start(transaction, given, door=CaptureDoor.WINDOW).id
    with database.reading(COMMAND_LINE) as reading:
        found = sessions.show(reading, resume)
    if found.collection != collection:
        raise InputError(f"--resume {resume}: that session records into {found.collection}, not into {collection}")
    if found.door is not CaptureDoor.WINDOW:
        raise InputError(f"--resume {resume}: that session is not one of a window; use the admin site")
    end_left(database, resume)
    with database.transaction(COMMAND_LINE) as transaction:
        if sessions.show(transaction, resume).state is CaptureState.ENDED:
            sessions.resume(transaction, resume)
    return resume


def _executable(settings: Settings, browser: Literal["chromium", "firefox"], *, is_visible: bool) -> Path:
    from browsers.engines.chromium.executable import find_chromium
    from browsers.engines.firefox.executable import find_firefox
    from browsers.engines.interface import BrowserMissing

    has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if is_visible and sys.platform != "darwin" and not has_display:
        raise InputError(
            "no window can be opened: DISPLAY and WAYLAND_DISPLAY are not set; use a browser of your own with "
            f"`{command('session start')}`"
        )
    try:
        if browser == "firefox":
            return find_firefox(settings.browsers.firefox_executable)
        return find_chromium(settings.browsers.executable)
    except BrowserMissing as error:
        raise InputError(str(error)) from error


def _end(browser: subprocess.Popen[bytes]) -> None:
    """End the browser with all of its processes."""
    import signal
    from contextlib import suppress

    if browser.poll() is None:
        browser.terminate()
        with suppress(subprocess.TimeoutExpired):  # a browser that is killed has not written its cookies
            browser.wait(_BROWSER_END_SECONDS)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(browser.pid, signal.SIGKILL)
    browser.wait()


def _say(line: str) -> None:
    click.echo(line, err=True)
