"""The commands `profile browser` make, list, check and delete stored logins."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import click

from admin.commands.processes.fleet import serve
from admin.options import InputError, JobFailed, common, fetching, load_settings, resolve_table

if TYPE_CHECKING:
    from admin.fleet.fleet import Addresses, Fleet
    from archive.settings.load import Settings

_WHEN_LOGGED_IN: Final = "Log in in the window, and press any key here when the page shows the login …"
_NO_DISPLAY: Final = (
    "--interactive needs a display, and there is none (DISPLAY is not set); log in by --flow FILE, or make the profile"
    " where a display is and copy the folder browser-profiles to this home"
)
PASSWORD_VARIABLE: Final = "GHOSTFLEET_LOGIN_PASSWORD"


@click.group("browser")
def browser() -> None:
    """Keep logins of sites, which jobs use by the profile key `browser_profile`.

    A browser profile has the cookies and the local storage of one login. It lies encrypted in the home.
    """


@browser.command("create")
@common
@click.argument("name")
@click.option("--url", default="", help="Page of the login form. A flow has its own.")
@click.option("--user", default="", help="Name or address to log in with.")
@click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"File with the password in its first line.  [{PASSWORD_VARIABLE} of the environment, or a prompt]",
)
@click.option(
    "--flow",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Log in by this flow, recorded in Chrome's DevTools (panel Recorder, export as JSON).",
)
@click.option("--http", "by_http", is_flag=True, help="The site asks by HTTP (Basic or Digest), and not by a form.")
@click.option("--interactive", is_flag=True, help="Log in by hand in a window of Chromium; needs a display.")
@click.option("--keep-password", is_flag=True, help="Store the password, encrypted, so that jobs renew the login.")
@click.option("--selector", default="", help="CSS selector of an element that only logged-in visitors see.")
@click.option("--text", default="", help="Text that only logged-in visitors see.")
@fetching
def create(
    home: Path | None,
    settings_file: Path | None,
    name: str,
    url: str,
    user: str,
    password_file: Path | None,
    flow: Path | None,
    by_http: bool,
    interactive: bool,
    keep_password: bool,
    selector: str,
    text: str,
    resolve: tuple[str, ...],
    **flags: Any,
) -> int:
    """Log in with a browser and store the login as NAME.

    The login passes a proxy that archives nothing. --selector or --text is the sign by which a page shows that the
    visitor is logged in. Jobs and `check` look for the sign. The password is never an argument.

    A login by a form takes user and password on one page or on two. The password is stored with --keep-password only;
    a flow and a login by HTTP are always stored, since a job needs them. All of it is encrypted.
    """
    from archive.dates import now_micros
    from archive.url import UrlError, canonical, host_of
    from browsers.engines.interface import HttpCredentials
    from browsers.ghosts.login_visits import has_display, made_profile, profile_by_hand
    from browsers.logins.browser_profile import BrowserProfile, LoginCheck, LoginRecipe
    from browsers.logins.profile_store import ProfileStore, ProfileUnusable

    settings = _settings(home, settings_file, resolve, flags)
    store = ProfileStore(settings.home)
    steps = _flow_text(flow) if flow is not None else ""
    url = url or _flow_url(flow, steps)
    if interactive and not has_display():
        raise InputError(_NO_DISPLAY)
    if not user and not flow and not interactive:
        raise InputError("--user is missing; name the user, or log in by --flow FILE or --interactive")
    try:
        page = canonical(url)
    except UrlError as error:
        raise InputError(
            f"--url {url!r} can't be used: {error}; write for example https://example.org/login"
        ) from error
    profile = BrowserProfile(name, page, now_micros(), check=LoginCheck(host_of(page), selector, text))
    try:
        store.check_name(name)
    except ProfileUnusable as error:
        raise InputError(str(error)) from error
    if flow is not None:
        profile = replace(profile, recipe=LoginRecipe(flow=steps))
    elif by_http:
        profile = replace(profile, http=HttpCredentials(_origin(page), user, _password(password_file)))
    elif not interactive:
        profile = replace(profile, recipe=LoginRecipe(user, _password(password_file)))

    def work(addresses: Addresses) -> None:
        if interactive:
            made = profile_by_hand(
                settings, addresses.proxy, addresses.controls, profile, lambda: click.pause(_WHEN_LOGGED_IN)
            )
        else:
            made = made_profile(settings, addresses.proxy, addresses.controls, profile)
        store.save(made if keep_password or flow is not None else replace(made, recipe=None))
        click.echo(f"{name} has {len(made.cookies)} cookies and the storage of {len(made.storage)} sites")

    return _with_fleet(settings, work)


@browser.command("import")
@common
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--url", required=True, help="Page that shows the login.")
@click.option("--selector", default="", help="CSS selector of an element that only logged-in visitors see.")
@click.option("--text", default="", help="Text that only logged-in visitors see.")
def import_cookies(
    home: Path | None, settings_file: Path | None, name: str, file: Path, url: str, selector: str, text: str
) -> None:
    """Store the cookies of FILE as the login NAME.

    FILE is a cookies.txt of Netscape's form, as curl, wget, Heritrix and browser extensions write it, or the JSON of a
    browser extension, or Playwright's storage state. Delete FILE afterwards: the stored login is encrypted, and FILE is
    not. `check` tells whether the login works.
    """
    from archive.dates import now_micros
    from archive.url import UrlError, canonical, host_of
    from browsers.logins.browser_profile import BrowserProfile, LoginCheck
    from browsers.logins.cookie_file import CookieFileError, read_cookie_file
    from browsers.logins.profile_store import ProfileStore, ProfileUnusable

    store = ProfileStore(load_settings(home, settings_file, {}).home)
    try:
        store.check_name(name)
        found = read_cookie_file(file)
        page = canonical(url)
    except (ProfileUnusable, CookieFileError) as error:
        raise InputError(str(error)) from error
    except UrlError as error:
        raise InputError(f"--url {url!r} can't be used: {error}; write for example https://example.org/") from error
    if not found.cookies and not found.storage:
        raise InputError(f"{file} has no cookie that can be used; export the cookies while you are logged in")
    check = LoginCheck(host_of(page), selector, text)
    profile = BrowserProfile(name, page, now_micros(), found.cookies, found.storage, check).bounded()
    store.save(profile)
    lost = f"; {found.left_out:,} could not be used" if found.left_out else ""
    click.echo(f"{name} has {len(profile.cookies)} cookies and the storage of {len(profile.storage)} sites{lost}")


@browser.command("list")
@common
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_profiles(home: Path | None, settings_file: Path | None, as_json: bool) -> None:
    """List the stored logins, without their secrets."""
    from archive.dates import iso_date
    from browsers.logins.profile_store import ProfileStore

    store = ProfileStore(load_settings(home, settings_file, {}).home)
    found = [_loaded(store.load, name) for name in store.names()]
    if as_json:
        click.echo(
            json.dumps([{"name": each.name, "url": each.url, "created": iso_date(each.created)} for each in found])
        )
        return
    for each in found:
        click.echo(f"{each.name}  {iso_date(each.created)[:10]}  {each.url}")
    if not found:
        click.echo("there are no browser profiles; `ghostfleet profile browser create` makes one")


@browser.command("check")
@common
@click.argument("name")
@fetching
def check(home: Path | None, settings_file: Path | None, name: str, resolve: tuple[str, ...], **flags: Any) -> int:
    """Open the page of the login with the stored login NAME.

    Exit code 1 when the page does not show the login any more.
    """
    from browsers.ghosts.login_visits import has_login
    from browsers.logins.profile_store import ProfileStore

    settings = _settings(home, settings_file, resolve, flags)
    profile = _loaded(ProfileStore(settings.home).load, name)

    def work(addresses: Addresses) -> None:
        if not has_login(settings, addresses.proxy, addresses.controls, profile):
            raise JobFailed(f"{profile.url} does not show the login of {name} any more; create the profile again")
        click.echo(f"{name} is logged in")

    return _with_fleet(settings, work)


@browser.command("delete")
@common
@click.argument("name")
def delete(home: Path | None, settings_file: Path | None, name: str) -> None:
    """Delete the stored login NAME."""
    from browsers.logins.profile_store import ProfileStore

    _loaded(ProfileStore(load_settings(home, settings_file, {}).home).delete, name)
    click.echo(f"{name} is deleted")


def _settings(
    home: Path | None, settings_file: Path | None, resolve: tuple[str, ...], flags: Mapping[str, Any]
) -> Settings:
    """Return the settings of a fleet that archives nothing."""
    chosen = {f"proxy.{name}": value for name, value in flags.items()}
    chosen |= {"proxy.port": 0, "proxy.mode": "live", "proxy.resolve": resolve_table(resolve)}
    return load_settings(home, settings_file, chosen)


def _loaded[T](step: Callable[[str], T], name: str) -> T:
    from browsers.logins.profile_store import ProfileUnusable

    try:
        return step(name)
    except ProfileUnusable as error:
        raise InputError(str(error)) from error


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _flow_text(file: Path) -> str:
    """Return the text of a flow that can be played. Raises InputError."""
    from browsers.behaviors.user_files.hosted import ScriptError
    from browsers.logins.flow_login import MOST_TEXT, flow_of

    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(MOST_TEXT + 1)
        if len(text) > MOST_TEXT:
            raise InputError(f"--flow {file} has more than {MOST_TEXT:,} characters; record a shorter one")
        flow_of(file, text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--flow {file} can't be read: {error}; correct the path or the file") from error
    except ScriptError as error:
        raise InputError(f"--flow can't be used: {error}") from error
    return text


def _flow_url(file: Path | None, text: str) -> str:
    """Return the address of the flow's first step. Raises InputError without a flow."""
    from browsers.logins.flow_login import flow_of

    if file is None:
        raise InputError("--url is missing; name the page of the login, such as https://example.org/login")
    return flow_of(file, text).url


def _password(file: Path | None) -> str:
    from admin.commands.use_cases.values import read_secret

    if file is not None:
        secret = read_secret(str(file), "--password-file")
        if not secret:
            raise InputError(f"--password-file {file} has no password in its first line")
        return secret
    return os.environ.get(PASSWORD_VARIABLE) or str(click.prompt("Password", hide_input=True))


def _with_fleet(settings: Settings, work: Callable[[Addresses], None]) -> int:
    """Start a fleet, work, and stop it. Problems of the login end the command with one line."""
    from browsers.engines.interface import BrowserMissing
    from browsers.logins.form_login import LoginFailed
    from browsers.logins.profile_store import ProfileUnusable
    from browsers.visit import FleetUnavailable

    problems = list[str]()

    def announce(fleet: Fleet) -> None:
        assert fleet.addresses is not None
        try:
            work(fleet.addresses)
        except (LoginFailed, BrowserMissing, ProfileUnusable, FleetUnavailable) as error:
            problems.append(str(error))

    code = serve(settings, announce, until=lambda: True)
    if problems:
        raise JobFailed(problems[0])
    return code
